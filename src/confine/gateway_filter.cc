#include "confine/gateway_filter.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "confine/filter_builder.h"

namespace glovebox::confine {
namespace {

// Grouped by what they are needed for.
// clang-format off
constexpr const char* kGatewayAllowed[] = {
    // memory
    "brk", "futex", "madvise", "membarrier", "mremap", "munmap", "rseq", "sched_getaffinity",
    "sched_yield",
    // descriptors that are open, and looking at a file
    "access", "close", "dup", "faccessat", "faccessat2", "fstat", "lseek", "lstat", "newfstatat",
    "pread64", "read", "readv", "stat", "statx", "write", "writev",
    // connections
    "accept", "accept4", "connect", "getpeername", "getsockname", "getsockopt", "pipe", "pipe2",
    "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt", "shutdown",
    "splice",
    // waiting
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2", "poll",
    "ppoll", "pselect6", "select", "timerfd_create", "timerfd_gettime", "timerfd_settime",
    // time and chance
    "clock_getres", "clock_gettime", "clock_nanosleep", "getrandom", "gettimeofday", "nanosleep",
    "time",
    // itself
    "exit", "exit_group", "getegid", "geteuid", "getgid", "getpid", "getppid", "getrlimit",
    "getrusage", "gettid", "getuid", "restart_syscall", "rt_sigaction", "rt_sigprocmask",
    "rt_sigreturn", "rt_sigtimedwait", "sigaltstack", "sysinfo", "uname",
};
// clang-format on

// resolv.conf is read again when it has changed. A filter sees no paths; that nothing can be
// written, made or emptied it sees.
void allow_reading_files(FilterBuilder& filter) {
  constexpr std::uint64_t kNot =
      O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND | O_DIRECTORY | O_PATH | (O_TMPFILE & ~O_DIRECTORY);
  filter.allow("open", {SCMP_A1(SCMP_CMP_MASKED_EQ, kNot, 0)});
  filter.allow("openat", {SCMP_A2(SCMP_CMP_MASKED_EQ, kNot, 0)});
}

void allow_sockets(FilterBuilder& filter) {
  constexpr std::uint64_t kType = 0xf;  // the rest are flags
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM}) {
      filter.allow("socket", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, family),
                              SCMP_A1(SCMP_CMP_MASKED_EQ, kType, type)});
    }
  }
  filter.allow("socket", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, AF_NETLINK),
                          SCMP_A2(SCMP_CMP_MASKED_EQ, kLow32, NETLINK_ROUTE)});
}

void allow_gateway_arguments(FilterBuilder& filter) {
  for (const std::uint64_t command : {FIONBIO, FIONREAD}) {
    filter.allow("ioctl", {SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, command)});
  }
  for (const std::uint64_t command : {F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_SETPIPE_SZ}) {
    filter.allow("fcntl", {SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, command)});
  }
  constexpr std::uint64_t kSetVma = 0x53564d41;  // newer C libraries name their heaps
  for (const std::uint64_t option : {std::uint64_t{PR_GET_DUMPABLE}, kSetVma}) {
    filter.allow("prctl", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, option)});
  }
}

}  // namespace

Result<> install_gateway_filter() {
  FilterBuilder filter("the gateway's system-call filter");
  for (const char* name : kGatewayAllowed) filter.allow(name);
  filter.allow_memory();
  filter.allow_itself();
  allow_reading_files(filter);
  allow_sockets(filter);
  allow_gateway_arguments(filter);
  return filter.load();
}

}  // namespace glovebox::confine
