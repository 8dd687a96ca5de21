#include "guest/agent/init/call_cleaner.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "guest/agent/init/scratch.h"
#include "sys/file.h"

namespace glovebox::agent {
namespace {

// Of the only files that a guest may touch outside the scratch. Each terminal changes those of the
// directory.
Result<> reset_terminal_times() {
  const timespec times[2] = {};
  for (const char* path : {"/dev/pts/ptmx", "/dev/pts"}) {
    if (::utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW) != 0) {
      return fail(Error::from_errno(std::string("reset the times of ") + path));
    }
  }
  return {};
}

}  // namespace

Result<CallCleaner> CallCleaner::prepare() {
  // Each call's processes have the same numbers as the first one's: they say nothing of the calls
  // before, and libraries that notice a fork by its number see another one than the zygote's.
  UniqueFd last_pid(::open("/proc/sys/kernel/ns_last_pid", O_RDWR | O_CLOEXEC));
  if (!last_pid) {
    return fail(Error(Errc::kUnsupported,
                      "this kernel has no ns_last_pid (CONFIG_CHECKPOINT_RESTORE)", errno));
  }
  // No closed connection stays behind in TIME_WAIT, with its port.
  TRY_OK(sys::write_control(AT_FDCWD, "/proc/sys/net/ipv4/tcp_max_tw_buckets", "0"));
  TRY_OK(sys::write_control(AT_FDCWD, "/proc/sys/net/ipv4/tcp_no_metrics_save", "1"));
  TRY(IpcObjects ipc, IpcObjects::open());
  TRY(LeftSockets sockets, LeftSockets::open());
  return CallCleaner(std::move(last_pid), std::move(ipc), std::move(sockets));
}

Result<> CallCleaner::clean(std::vector<UniqueFd> scratch) const {
  TRY_OK(replace_scratch(std::move(scratch)));
  TRY_OK(ipc_.remove_all());
  TRY_OK(reset_terminal_times());
  TRY_OK(sockets_.expect_none());
  if (::pwrite(last_pid_.get(), "1", 1, 0) != 1) {
    return fail(Error::from_errno("reset the process numbers"));
  }
  return {};
}

}  // namespace glovebox::agent
