#include "launcher/jail/idmap.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "sys/clone.h"
#include "sys/file.h"

namespace glovebox::launcher {

Result<UniqueFd> make_idmap_namespace(HostUser on_disk, std::uint32_t shown_id) {
  const pid_t parent = ::getpid();
  TRY(const sys::Cloned child, sys::clone_into(CLONE_NEWUSER));
  if (child.pid == 0) {
    // Keeps the namespace alive until the parent has opened it, and dies with the parent.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);  // the parent died before the call above
    while (true) ::pause();
  }
  const std::string proc = "/proc/" + std::to_string(child.pid) + "/";
  const auto map = [&](std::uint32_t id) {
    return std::to_string(id) + " " + std::to_string(shown_id) + " 1";
  };
  Result<UniqueFd> opened = [&]() -> Result<UniqueFd> {
    TRY_OK(sys::write_control(AT_FDCWD, proc + "uid_map", map(on_disk.uid)));
    TRY_OK(sys::write_control(AT_FDCWD, proc + "gid_map", map(on_disk.gid)));
    UniqueFd fd(::open((proc + "ns/user").c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail(Error::from_errno("open mapping namespace"));
    return fd;
  }();
  sys::send_signal(child.pidfd.get(), SIGKILL);
  ::waitpid(child.pid, nullptr, 0);
  return opened;
}

}  // namespace glovebox::launcher
