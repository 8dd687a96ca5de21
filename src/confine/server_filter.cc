#include "confine/server_filter.h"

#include <errno.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "confine/filter_builder.h"

namespace glovebox::confine {
namespace {

// Grouped by what they are needed for. Some are of other architectures or older ways of saying the
// same; a name this architecture has not is skipped.
// clang-format off
constexpr const char* kServerAllowed[] = {
    // memory, threads
    "brk", "futex", "get_robust_list", "getcpu", "madvise", "membarrier", "mlock", "mremap",
    "msync", "munlock", "munmap", "rseq", "sched_getaffinity", "sched_yield", "set_robust_list",
    // files: the store, its temporary files, its size on disk
    "access", "close", "close_range", "dup", "dup2", "dup3", "faccessat", "faccessat2",
    "fadvise64", "fallocate", "fchmod", "fcntl", "fdatasync", "flock", "fstat", "fstatfs",
    "fsync", "ftruncate", "getcwd", "getdents64", "lseek", "lstat", "mkdir", "mkdirat",
    "newfstatat", "open", "openat", "pread64", "preadv", "preadv2", "pwrite64", "pwritev",
    "pwritev2", "read", "readlink", "readlinkat", "readv", "rename", "renameat", "renameat2",
    "rmdir", "stat", "statfs", "statx", "umask", "unlink", "unlinkat", "write", "writev",
    // sockets that are open already, or come by accept or with a message
    "accept", "accept4", "getpeername", "getsockname", "getsockopt", "recvfrom", "recvmsg",
    "sendmsg", "sendto", "setsockopt", "shutdown",
    // waiting
    "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait", "eventfd2",
    "pipe", "pipe2", "poll", "ppoll", "pselect6", "select", "signalfd4", "timerfd_create",
    "timerfd_gettime", "timerfd_settime",
    // time and chance
    "clock_getres", "clock_gettime", "clock_nanosleep", "getrandom", "gettimeofday", "nanosleep",
    "time",
    // itself
    "exit", "exit_group", "getegid", "geteuid", "getgid", "getpgrp", "getpid", "getppid",
    "getrlimit", "getrusage", "gettid", "getuid", "restart_syscall", "rt_sigaction",
    "rt_sigpending", "rt_sigprocmask", "rt_sigreturn", "rt_sigtimedwait", "sigaltstack",
    "sysinfo", "times", "uname",
};
// clang-format on

// A thread, and nothing but a thread.
void allow_threads(FilterBuilder& filter) {
  constexpr std::uint64_t kMust = CLONE_VM | CLONE_SIGHAND | CLONE_THREAD;
  constexpr std::uint64_t kMustNot = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                     CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_VFORK |
                                     CLONE_PTRACE;
  filter.allow("clone", {SCMP_A0(SCMP_CMP_MASKED_EQ, kMust | kMustNot, kMust)});
  // Its flags are behind a pointer that a filter cannot follow; glibc falls back to clone.
  filter.add(SCMP_ACT_ERRNO(ENOSYS), "clone3");
}

// No socket() at all: everything the server talks over was opened before, is accepted, comes with a
// message, or is one of such a pair. Not SOCK_DGRAM: that could send to an address of its choice.
void allow_socket_pairs(FilterBuilder& filter) {
  for (const std::uint64_t type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    filter.allow("socketpair", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, AF_UNIX),
                                SCMP_A1(SCMP_CMP_MASKED_EQ, 0xf, type)});
  }
}

void allow_server_arguments(FilterBuilder& filter) {
  for (const std::uint64_t command : {FIONBIO, FIONREAD, TCGETS, TIOCGWINSZ}) {
    filter.allow("ioctl", {SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, command)});
  }
  constexpr std::uint64_t kSetVma = 0x53564d41;  // newer C libraries name their heaps
  for (const std::uint64_t option : {std::uint64_t{PR_SET_NAME}, std::uint64_t{PR_GET_NAME},
                                     std::uint64_t{PR_GET_DUMPABLE}, kSetVma}) {
    filter.allow("prctl", {SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, option)});
  }
  filter.allow_itself();
}

}  // namespace

Result<> install_server_filter() {
  FilterBuilder filter("the server's system-call filter");
  for (const char* name : kServerAllowed) filter.allow(name);
  allow_threads(filter);
  filter.allow_memory();
  allow_socket_pairs(filter);
  allow_server_arguments(filter);
  return filter.load();
}

}  // namespace glovebox::confine
