// The subjects of the benchmark: each does one piece of work in one way, and has a name and a bar.
#pragma once

#include <functional>
#include <vector>

#include "bench/bench_options.h"
#include "bench/oci_bundle.h"
#include "bench/report.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

struct Subject {
  Row row;  // with name, baseline and bar; rounds are added
  std::function<Round()> measure;
};

// Tries each once; one that cannot run is marked as skipped. `bundle` is for runc, or null. Every
// subject is next to its baseline, so that a disturbance of the machine affects both.
std::vector<Subject> make_subjects(const client::ServerLocation& location, const Effort& effort,
                                   const OciBundle* bundle);

extern const std::vector<std::string> kPythonHello;

}  // namespace glovebox::bench
