#include "base/parent_death.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace glovebox {

Result<> end_with_parent(pid_t parent) {
  if (::prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) return fail(Error::from_errno("prctl"));
  // It may have ended before we asked; then another process is our parent by now.
  if (::getppid() != parent)
    return fail(Errc::kUnavailable, "the program that started us has ended");
  return {};
}

}  // namespace glovebox
