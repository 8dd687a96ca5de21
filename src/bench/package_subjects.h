// What is measured of sets of packages: calls with three real ones beside the built-in template
// that has as many, and fifty sets that are alive at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/package_index_server.h"
#include "bench/subjects.h"

namespace glovebox::bench {

// What a server of the benchmark's own is started with.
struct PackageFixture {
  // What cannot be is not there, and the reason is.
  static PackageFixture make(const Effort& effort);
  std::vector<std::string> environment() const;  // in which the server finds the index

  std::string unavailable_reason;  // empty: `index` is there
  std::unique_ptr<PackageIndexServer> index;
};

// `launcher_pid`: of the server's launcher, if both are ours.
std::vector<Subject> make_package_subjects(const client::ServerLocation& location,
                                           const PackageFixture* fixture,
                                           const std::function<pid_t()>& launcher_pid,
                                           const Effort& effort);

}  // namespace glovebox::bench
