// Package measurements: calls with three real packages beside the built-in template that has them,
// and fifty package sets at once.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/bench_options.h"
#include "bench/package_index_server.h"
#include "bench/subjects.h"

namespace glovebox::bench {

// The package index that the measured server uses.
struct PackageFixture {
  // If the index cannot be started, it is null, with a reason.
  static PackageFixture make(const Effort& effort);
  std::vector<std::string> environment() const;  // that makes the server use the index

  std::string unavailable_reason;  // empty: `index` exists
  std::unique_ptr<PackageIndexServer> index;
};

// `launcher_pid`: the launcher of a server that this command has started; else empty.
std::vector<Subject> make_package_subjects(const client::ServerLocation& location,
                                           const PackageFixture* fixture,
                                           const std::function<pid_t()>& launcher_pid,
                                           const Effort& effort);

}  // namespace glovebox::bench
