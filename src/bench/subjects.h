// What is measured: each subject is one way to do one piece of work, by name, with its bar.
#pragma once

#include <functional>
#include <vector>

#include "bench/bench_options.h"
#include "bench/oci_bundle.h"
#include "bench/report.h"
#include "client/connection/server_location.h"

namespace glovebox::bench {

struct Subject {
  Row row;  // named, with its baseline and bar; the rounds are added
  std::function<Round()> measure;
};

// Tries each once and says why it is not here. `bundle` is runc's, or null. In the order of a
// round: every subject's baseline is beside it, so that what disturbs the machine disturbs both.
std::vector<Subject> make_subjects(const client::ServerLocation& location, const Effort& effort,
                                   const OciBundle* bundle);

extern const std::vector<std::string> kPythonHello;

}  // namespace glovebox::bench
