// What is measured: each subject is one way to run one program, by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/process.h"

namespace glovebox::bench::cold {

struct Subject {
  std::string name;
  std::string baseline;  // the subject it is compared with; empty: none
  std::function<Result<Timed>()> run;
  unsigned burst = 1;   // how many calls in a row, without a pause, when it takes part
  unsigned every = 1;   // takes part in every n-th round: slow ones are bounded so
  std::string skipped;  // why it cannot run here; then it is not run
};

struct Places {
  std::string bin_dir;          // our programs
  std::string launcher_socket;  // of a launcher that runs already
  std::string bundle;           // runc's
  std::string etc;              // the /etc that sandboxes see
};

// What a call takes that finds the machine done with the one before.
std::vector<Subject> single_subjects(const Places& places);
// Many in a row: here each also pays for what the one before has left to be cleaned up.
std::vector<Subject> burst_subjects(const Places& places);
// With a pause before each: on hosts with v1 cgroups some of the kernel's waits only show then.
std::vector<Subject> quiet_subjects(const Places& places);

Command glovebox_run(const Places& places, const std::string& launcher,
                     std::vector<std::string> what);

// The /etc of the layer that the last run of glovebox used or made.
Result<std::string> etc_of_sandboxes();

}  // namespace glovebox::bench::cold
