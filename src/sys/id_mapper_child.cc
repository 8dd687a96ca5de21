// Between fork and exec: no allocation, no exceptions, no logging; async-signal-safe calls only.
#include "sys/id_mapper_child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <type_traits>

namespace glovebox::sys {

static_assert(std::is_trivially_copyable_v<IdMapperPlan>);

void run_id_mapper_child(const IdMapperPlan& plan) noexcept {
  // So that the read below ends when the parent does; the kernel forgets the signal at the exec of
  // a setuid program, which ends by itself.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::close(plan.parents_go_fd);
  char byte = 0;
  ssize_t got = 0;
  do {
    got = ::read(plan.go_fd, &byte, 1);
  } while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(1);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(plan.words_fd, 1) < 0 ||
      ::dup2(plan.words_fd, 2) < 0) {
    ::_exit(1);
  }
  // Nothing of the caller's environment reaches a setuid program.
  char* const envp[] = {nullptr};
  ::execve(plan.program, const_cast<char* const*>(plan.argv), envp);
  ::_exit(127);
}

}  // namespace glovebox::sys
