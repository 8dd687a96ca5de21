#include "guest/agent/init/seccomp_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <span>

namespace glovebox::agent {
namespace {

#include "guest_filter.inc"  // made by gen_filter

int install(std::span<const sock_filter> filter) noexcept {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

}  // namespace

// The filter that refuses arguments goes last: it also refuses any further filter.
int install_filters(ExtraFilter extra) noexcept {
  int error = install(kAllow);
  if (error == 0 && extra != ExtraFilter::kNone) error = install(kProcess);
  if (error == 0 && extra == ExtraFilter::kProcessAndSignals) error = install(kSignals);
  return error == 0 ? install(kRefuse) : error;
}

int install_session_filters(SetuidFiles setuid_files) noexcept {
  if (const int error = install(kAllowSession); error != 0) return error;
  return setuid_files == SetuidFiles::kAllowed ? install(kRefuseSession)
                                               : install(kRefuseSessionWithMounts);
}

int install_joined_filter() noexcept { return install(kJoined); }

int install_session_joined_filter() noexcept { return install(kJoinedSession); }

int install_zygote_filters() noexcept {
  const int error = install(kRefuseZygote);
  return error == 0 ? install(kAllowZygote) : error;
}

}  // namespace glovebox::agent
