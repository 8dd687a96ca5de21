// Looks at a runtime that stays between two calls (`reuse: "interpreter"`): nothing of the last one
// may go on while no call runs. What it left in the interpreter and in files is the next call's, as
// on AWS Lambda; processes, threads and changed limits are not.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <array>
#include <string>

#include "base/result.h"

namespace glovebox::agent {

class KeptRuntime {
 public:
  // Its limits have been set, and it has not begun. `last_pid`, borrowed: ns_last_pid, open for
  // reading and writing.
  static Result<KeptRuntime> of(pid_t pid, int last_pid, bool change_user);

  // What is left, for people; empty: nothing. With no child that has ended and was not reaped.
  std::string left() const;

 private:
  KeptRuntime(pid_t pid, int last_pid, bool change_user)
      : pid_(pid), last_pid_(last_pid), change_user_(change_user) {}

  pid_t pid_;
  int last_pid_;
  bool change_user_;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
};

}  // namespace glovebox::agent
