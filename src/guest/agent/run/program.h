// Starts the guest's program: pipes or a pty made inside the sandbox, one fork, and the child's
// own account of what went wrong if it did.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "guest/agent/run/guest_child.h"
#include "guest/agent/run/runtime.h"
#include "guest/agent/run/serve.h"
#include "model/sandbox_spec.h"

namespace glovebox::agent {

struct StartedProgram {
  pid_t pid = 0;
  std::vector<UniqueFd> client_ends;  // stdin, stdout, stderr; or the pty's master
  UniqueFd master;                    // ours too, to resize it
  UniqueFd job;                       // of a runtime
  UniqueFd socket;                    // of a runtime
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
// A runtime as a program: with the streams and further descriptors that were made for it. One that
// is started ahead is not limited yet: the caller's limits come with the take.
enum class Ahead : bool { kNo, kYes };
StartOutcome start_runtime(const ServePlan& plan, const ExecSpec& exec, RuntimePlaces places,
                           Ahead ahead);
// Sets a waiting runtime's limits, from outside.
Result<> limit_runtime(const ServePlan& plan, pid_t pid);

void resize_terminal(int master, TerminalSize size);

// ---- what sessions start their programs with too

// Both ends of a new pty; the slave belongs to whoever this process is for files.
bool open_terminal(TerminalSize size, UniqueFd& master, UniqueFd& slave);
// As a shell would: a name without a slash is looked for along the program's own PATH.
std::string find_program(const ExecSpec& exec);
std::vector<RlimitEntry> rlimits_of(const ServePlan& plan);
// For execve; the strings are the caller's.
std::vector<char*> pointers_to(const std::vector<std::string>& strings);

}  // namespace glovebox::agent
