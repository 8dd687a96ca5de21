#include "guest/agent/seccomp_filter.h"

#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace glovebox::agent {
namespace {

#include "guest_filter.inc"  // kRefuse, kAllow: made by gen_filter

int install(std::span<const sock_filter> filter) noexcept {
  const sock_fprog program{static_cast<unsigned short>(filter.size()),
                           const_cast<sock_filter*>(filter.data())};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : errno;
}

}  // namespace

std::span<const sock_filter> refuse_filter() { return kRefuse; }
std::span<const sock_filter> allow_filter() { return kAllow; }

int install_filters() noexcept {
  if (const int error = install(refuse_filter()); error != 0) return error;
  return install(allow_filter());
}

}  // namespace glovebox::agent
