// Starts the guest's program: pipes or a pty made inside the sandbox, one fork, and the child's
// own account of what went wrong if it did.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "guest/agent/serve.h"
#include "model/sandbox_spec.h"

namespace glovebox::agent {

struct StartedProgram {
  pid_t pid = 0;
  std::vector<UniqueFd> client_ends;  // stdin, stdout, stderr; or the pty's master
  UniqueFd master;                    // ours too, to resize it
};
struct ProgramFailure {
  std::string step;
  int error = 0;
};

// Exactly one of the two is filled: a failure has a step.
struct StartOutcome {
  StartedProgram started;
  ProgramFailure failure;
};

StartOutcome start_program(const ServePlan& plan, const ExecSpec& exec);

void resize_terminal(int master, TerminalSize size);

}  // namespace glovebox::agent
