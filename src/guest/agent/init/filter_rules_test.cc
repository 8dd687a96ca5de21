// The generated filters, rule by rule. Each program is interpreted here on made-up calls, so a rule
// that is missing is noticed even where a second wall would hold.
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <set>
#include <vector>

#include "guest/agent/init/filter_calls.h"
#include "guest/agent/init/testing/filter_stacks.h"

namespace glovebox::agent {
namespace {

constexpr std::uint64_t kHigh = 0x100000000ull;  // a bit that the kernel does not read of an int

TEST(FilterRules, AForeignArchitectureHasNoCalls) {
  for (const Stack* stack : kAll) {
    EXPECT_EQ(stack->answer(SYS_read, {}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_read, {}, AUDIT_ARCH_I386), refused(ENOSYS)) << stack->name;
    EXPECT_EQ(stack->answer(3, {}, AUDIT_ARCH_AARCH64), refused(ENOSYS)) << stack->name;
    constexpr long kX32 = 0x40000000;
    EXPECT_EQ(stack->answer(kX32 | SYS_read, {}), refused(ENOSYS)) << stack->name;
  }
}

// ---- the list of calls -----------------------------------------------------------------------

template <std::size_t N>
void add_numbers(std::set<long>& numbers, const char* const (&names)[N]) {
  for (const char* name : names) {
    const int number = seccomp_syscall_resolve_name(name);
    if (number >= 0) numbers.insert(number);
  }
}

TEST(FilterRules, WhatIsNotListedDoesNotExist) {
  std::set<long> listed;
  for (const auto& add : {+[](std::set<long>& to) { add_numbers(to, kFiles); },
                          +[](std::set<long>& to) { add_numbers(to, kMemory); },
                          +[](std::set<long>& to) { add_numbers(to, kProcesses); },
                          +[](std::set<long>& to) { add_numbers(to, kScheduling); },
                          +[](std::set<long>& to) { add_numbers(to, kSignalCalls); },
                          +[](std::set<long>& to) { add_numbers(to, kWaiting); },
                          +[](std::set<long>& to) { add_numbers(to, kTime); },
                          +[](std::set<long>& to) { add_numbers(to, kSockets); },
                          +[](std::set<long>& to) { add_numbers(to, kIpc); },
                          +[](std::set<long>& to) { add_numbers(to, kSystem); }}) {
    add(listed);
  }
  std::set<long> by_name;
  add_numbers(by_name, kRefused);
  ASSERT_GT(listed.size(), 200u);
  for (long number = 0; number < 1000; ++number) {
    const std::uint32_t wanted = listed.contains(number)     ? kAllowed
                                 : number == SYS_personality ? kAllowed
                                 : number == SYS_sync        ? refused(0)
                                 : by_name.contains(number)  ? refused(EPERM)
                                                             : refused(ENOSYS);
    const Stack allow{"allow", {kAllow}};
    EXPECT_EQ(allow.answer(number, {}), wanted) << number;
    const bool joins = number == SYS_setns;
    const Stack zygote{"zygote", {kAllowZygote}};
    EXPECT_EQ(zygote.answer(number, {}), joins ? kAllowed : wanted) << number;
    const Stack session{"session", {kAllowSession}};
    EXPECT_EQ(session.answer(number, {}), number == SYS_chroot ? kAllowed : wanted) << number;
  }
}

TEST(FilterRules, TheDangerousCallsAreRefusedByName) {
  for (const Stack* stack : kGuests) {
    for (const long number : {SYS_add_key,
                              SYS_request_key,
                              SYS_keyctl,
                              SYS_bpf,
                              SYS_perf_event_open,
                              SYS_io_uring_setup,
                              SYS_io_uring_enter,
                              SYS_io_uring_register,
                              SYS_userfaultfd,
                              SYS_mount,
                              SYS_umount2,
                              SYS_move_mount,
                              SYS_open_tree,
                              SYS_fsopen,
                              SYS_fsmount,
                              SYS_fsconfig,
                              SYS_mount_setattr,
                              SYS_pivot_root,
                              SYS_setns,
                              SYS_init_module,
                              SYS_finit_module,
                              SYS_kexec_load,
                              SYS_open_by_handle_at,
                              SYS_pidfd_getfd,
                              SYS_fanotify_init,
                              SYS_reboot,
                              SYS_swapon,
                              SYS_syslog,
                              SYS_iopl,
                              SYS_ioperm}) {
      EXPECT_EQ(stack->answer(number, {}), refused(EPERM)) << stack->name << " " << number;
    }
    for (const long number : {SYS_io_setup, SYS_openat2, SYS_clone3}) {
      EXPECT_EQ(stack->answer(number, {}), refused(ENOSYS)) << stack->name << " " << number;
    }
  }
  EXPECT_EQ(kZygote.answer(SYS_setns, {}), kAllowed);
  EXPECT_EQ(kSession.answer(SYS_chroot, {}), kAllowed);
  EXPECT_EQ(kRun.answer(SYS_chroot, {}), refused(EPERM));
}

TEST(FilterRules, AddressesStayRandom) {
  constexpr std::uint64_t kNoRandomize = 0x0040000;
  for (const Stack* stack : kAll) {
    EXPECT_EQ(stack->answer(SYS_personality, {0xffffffff}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_personality, {0}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_personality, {kNoRandomize}), refused(ENOSYS)) << stack->name;
    EXPECT_EQ(stack->answer(SYS_personality, {kHigh}), refused(ENOSYS)) << stack->name;
  }
}

// ---- arguments -------------------------------------------------------------------------------

TEST(FilterRules, NoNewNamespaceOfAnyKind) {
  // Every flag by itself and beside those of a thread; only these make namespaces.
  const std::set<std::uint64_t> namespaces = {CLONE_NEWNS,  CLONE_NEWCGROUP, CLONE_NEWUTS,
                                              CLONE_NEWIPC, CLONE_NEWUSER,   CLONE_NEWPID,
                                              CLONE_NEWNET};
  constexpr std::uint64_t kNewTime = 0x80;
  constexpr std::uint64_t kThread = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
                                    CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS;
  for (const Stack* stack : kAll) {
    EXPECT_EQ(stack->answer(SYS_clone, {kThread}), kAllowed) << stack->name;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::uint64_t flag = 1ull << bit;
      const bool makes = namespaces.contains(flag);
      for (const std::uint64_t flags : {flag, flag | kThread, flag | kHigh, flag | 0x11}) {
        EXPECT_EQ(stack->answer(SYS_clone, {flags}), makes ? refused(EPERM) : kAllowed)
            << stack->name << ": clone with bit " << bit;
      }
      EXPECT_EQ(stack->answer(SYS_unshare, {flag}),
                makes || flag == kNewTime ? refused(EPERM) : kAllowed)
          << stack->name << ": unshare with bit " << bit;
      EXPECT_EQ(stack->answer(SYS_unshare, {flag | CLONE_NEWUSER}), refused(EPERM)) << bit;
    }
  }
}

// What the kernel would do with the family, the type and the protocol, or what we say instead.
std::uint32_t wanted_for_socket(std::uint64_t family, std::uint64_t type, std::uint64_t protocol) {
  if (family == AF_UNIX) return kAllowed;
  if (family != AF_INET && family != AF_INET6) return refused(EAFNOSUPPORT);
  const std::uint64_t plain = type & 0xf;
  const bool good_type = plain == SOCK_STREAM || plain == SOCK_DGRAM;
  if (!good_type && protocol <= IPPROTO_UDP) {
    return refused(plain == SOCK_RAW || plain == SOCK_PACKET ? EPERM : ESOCKTNOSUPPORT);
  }
  return protocol > IPPROTO_UDP ? refused(EPROTONOSUPPORT) : kAllowed;
}

TEST(FilterRules, SocketsAreUnixOnesAndStreamsAndDatagramsOfTheInternet) {
  for (const Stack* stack : kAll) {
    if (stack == &kProcessEngine) continue;
    for (std::uint64_t family = 0; family < 64; ++family) {
      for (std::uint64_t type = 0; type < 16; ++type) {
        for (const std::uint64_t flags : {0, 0 | SOCK_CLOEXEC, SOCK_CLOEXEC | SOCK_NONBLOCK}) {
          for (const std::uint64_t protocol : {0, 1, 6, 17}) {
            EXPECT_EQ(stack->answer(SYS_socket, {family, type | flags, protocol}),
                      wanted_for_socket(family, type, protocol))
                << stack->name << ": family " << family << " type " << type << " flags " << flags
                << " protocol " << protocol;
          }
        }
      }
    }
  }
}

TEST(FilterRules, AProtocolAboveUdpIsNotSupported) {
  for (const Stack* stack : kAll) {
    if (stack == &kProcessEngine) continue;
    for (const std::uint64_t family : {AF_INET, AF_INET6}) {
      for (const std::uint64_t protocol : {18, 33, 58, 132, 136, 255, 262}) {
        for (const std::uint64_t type :
             {0 | SOCK_STREAM, 0 | SOCK_DGRAM, SOCK_DGRAM | SOCK_CLOEXEC}) {
          EXPECT_EQ(stack->answer(SYS_socket, {family, type, protocol}), refused(EPROTONOSUPPORT))
              << stack->name << ": protocol " << protocol;
        }
      }
    }
  }
}

TEST(FilterRules, BitsThatTheKernelDoesNotReadMakeNoOtherFamily) {
  for (const Stack* stack : kAll) {
    for (const std::uint64_t family : {AF_NETLINK, AF_PACKET, AF_INET, AF_VSOCK, AF_ALG}) {
      EXPECT_NE(stack->answer(SYS_socket, {family | kHigh, SOCK_RAW, 0}), kAllowed)
          << stack->name << ": family " << family;
    }
    EXPECT_EQ(stack->answer(SYS_socketpair, {AF_UNIX, SOCK_STREAM, 0}), kAllowed) << stack->name;
    for (const std::uint64_t family : {AF_INET, AF_INET6, AF_NETLINK, AF_TIPC}) {
      EXPECT_EQ(stack->answer(SYS_socketpair, {family, SOCK_STREAM, 0}), refused(EAFNOSUPPORT))
          << stack->name << ": family " << family;
    }
  }
}

TEST(FilterRules, SocketOptionsForKernelTlsProgramsAndFlowLabelsAreUnknown) {
  constexpr std::uint64_t kUlp = 31;
  constexpr std::uint64_t kFlowLabels = 32;
  const std::set<std::uint64_t> programs = {26, 50, 51, 52};
  for (const Stack* stack : kAll) {
    for (std::uint64_t name = 0; name < 100; ++name) {
      EXPECT_EQ(stack->answer(SYS_setsockopt, {3, IPPROTO_TCP, name}),
                name == kUlp ? refused(ENOPROTOOPT) : kAllowed)
          << stack->name << ": TCP option " << name;
      EXPECT_EQ(stack->answer(SYS_setsockopt, {3, SOL_SOCKET, name}),
                programs.contains(name) ? refused(ENOPROTOOPT) : kAllowed)
          << stack->name << ": socket option " << name;
      EXPECT_EQ(stack->answer(SYS_setsockopt, {3, IPPROTO_IP, name}), kAllowed) << stack->name;
      EXPECT_EQ(stack->answer(SYS_setsockopt, {3, IPPROTO_IPV6, name}),
                name == kFlowLabels ? refused(ENOPROTOOPT) : kAllowed)
          << stack->name << ": IPv6 option " << name;
    }
    EXPECT_EQ(stack->answer(SYS_setsockopt, {3, IPPROTO_TCP | kHigh, kUlp | kHigh}),
              refused(ENOPROTOOPT))
        << stack->name;
  }
}

TEST(FilterRules, AGuestInstallsNoFilters) {
  constexpr std::uint64_t kSetSeccomp = 22;
  for (const Stack* stack : kGuests) {
    for (const std::uint64_t flags : {0, 1, 8, 9}) {
      EXPECT_EQ(stack->answer(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, flags}), refused(EINVAL))
          << stack->name;
    }
    EXPECT_EQ(stack->answer(SYS_seccomp, {SECCOMP_SET_MODE_FILTER | kHigh}), refused(EINVAL))
        << stack->name;
    EXPECT_EQ(stack->answer(SYS_seccomp, {SECCOMP_SET_MODE_STRICT}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_seccomp, {SECCOMP_GET_ACTION_AVAIL}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_prctl, {kSetSeccomp, SECCOMP_MODE_FILTER}), refused(EINVAL))
        << stack->name;
    EXPECT_EQ(stack->answer(SYS_prctl, {kSetSeccomp | kHigh, SECCOMP_MODE_FILTER}), refused(EINVAL))
        << stack->name;
    EXPECT_EQ(stack->answer(SYS_prctl, {kSetSeccomp, SECCOMP_MODE_STRICT}), kAllowed)
        << stack->name;
    EXPECT_EQ(stack->answer(SYS_prctl, {38 /* PR_SET_NO_NEW_PRIVS */, 1}), kAllowed) << stack->name;
  }
  // A zygote's children still add theirs, but none that reports to a listener.
  EXPECT_EQ(kZygote.answer(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0}), kAllowed);
  EXPECT_EQ(kZygote.answer(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 8}), refused(EPERM));
  // Whatever is installed before the last filter must let the next one pass.
  for (const Program& program : {Program(kAllow), Program(kAllowSession), Program(kAllowZygote),
                                 Program(kProcess), Program(kSignals), Program(kRefuseZygote)}) {
    const Stack before{"before the last", {program}};
    EXPECT_EQ(before.answer(SYS_seccomp, {SECCOMP_SET_MODE_FILTER, 0}), kAllowed);
  }
}

TEST(FilterRules, TerminalsTakeNoForeignInput) {
  for (const Stack* stack : kAll) {
    for (const std::uint64_t command : {0x5412, 0x541c, 0x5423}) {
      for (const std::uint64_t as_given : {command, command | kHigh}) {
        EXPECT_EQ(stack->answer(SYS_ioctl, {0, as_given}), refused(EPERM))
            << stack->name << ": " << as_given;
      }
    }
    for (const std::uint64_t command : {0x5401, 0x5411, 0x5413, 0x541b, 0x541d, 0x5421, 0x5424}) {
      EXPECT_EQ(stack->answer(SYS_ioctl, {0, command}), kAllowed) << stack->name << ": " << command;
    }
  }
}

// ---- setuid files ----------------------------------------------------------------------------

struct ModeCall {
  const char* name;
  long number;
  std::size_t at;  // where its mode is
};
constexpr ModeCall kModeCalls[] = {
    {"chmod", SYS_chmod, 1}, {"fchmod", SYS_fchmod, 1}, {"fchmodat", SYS_fchmodat, 2},
    {"creat", SYS_creat, 1}, {"mknod", SYS_mknod, 1},   {"mknodat", SYS_mknodat, 2},
};
const std::vector<const Stack*> kWithoutSetuid = {&kRun, &kJoinedRun, &kZygote, &kJoinedInSession,
                                                  &kSessionWithMounts};

TEST(FilterRules, NoModeWithASetuidBit) {
  for (const ModeCall& call : kModeCalls) {
    for (unsigned bit = 0; bit < 16; ++bit) {
      const std::uint64_t mode = 1ull << bit;
      const bool setuid = mode == 04000 || mode == 02000;
      Call arguments{};
      arguments[call.at] = mode | 0644;
      for (const Stack* stack : kWithoutSetuid) {
        EXPECT_EQ(stack->answer(call.number, arguments), setuid ? refused(EPERM) : kAllowed)
            << stack->name << ": " << call.name << " with bit " << bit;
      }
      EXPECT_EQ(kSession.answer(call.number, arguments), kAllowed)
          << call.name << ": sudo needs them, and package tools make them";
    }
  }
}

TEST(FilterRules, NoFileIsOpenedIntoBeingWithASetuidBit) {
  struct Opening {
    const char* what;
    std::uint64_t flags;
    bool makes;
  };
  const Opening openings[] = {
      {"to read", O_RDONLY, false},
      {"to write", O_WRONLY | O_TRUNC | O_CLOEXEC, false},
      {"a directory", O_RDONLY | O_DIRECTORY, false},
      {"created", O_WRONLY | O_CREAT, true},
      {"created anew", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, true},
      {"without a name", O_WRONLY | O_TMPFILE, true},
      {"without a name, never to have one", O_RDWR | O_TMPFILE | O_EXCL, true},
  };
  for (const Opening& opening : openings) {
    for (const std::uint64_t mode : {0644, 01777, 02644, 04644, 04755, 06755}) {
      const bool bad = opening.makes && (mode & 06000) != 0;
      for (const Stack* stack : kWithoutSetuid) {
        EXPECT_EQ(stack->answer(SYS_openat, {0, 0, opening.flags, mode}),
                  bad ? refused(EPERM) : kAllowed)
            << stack->name << ": openat " << opening.what << " with mode " << mode;
        EXPECT_EQ(stack->answer(SYS_open, {0, opening.flags, mode}),
                  bad ? refused(EPERM) : kAllowed)
            << stack->name << ": open " << opening.what << " with mode " << mode;
      }
      EXPECT_EQ(kSession.answer(SYS_openat, {0, 0, opening.flags, mode}), kAllowed);
    }
  }
}

// ---- processes -------------------------------------------------------------------------------

TEST(FilterRules, NoTraceeIsHeldAtItsExit) {
  constexpr std::uint64_t kSeize = 0x4206;
  constexpr std::uint64_t kSetOptions = 0x4200;
  constexpr std::uint64_t kTraceExit = 0x40;
  for (const Stack* stack : kAll) {
    if (stack == &kProcessEngine) continue;
    for (const std::uint64_t request : {kSeize, kSetOptions}) {
      EXPECT_EQ(stack->answer(SYS_ptrace, {request, 5, 0, kTraceExit | 1}), refused(EPERM))
          << stack->name;
      EXPECT_EQ(stack->answer(SYS_ptrace, {request | kHigh, 5, 0, kTraceExit}), refused(EPERM))
          << stack->name;
      EXPECT_EQ(stack->answer(SYS_ptrace, {request, 5, 0, 0x3f}), kAllowed) << stack->name;
    }
    EXPECT_EQ(stack->answer(SYS_ptrace, {0, 0, 0, 0}), kAllowed) << stack->name;
    EXPECT_EQ(stack->answer(SYS_ptrace, {16, 5, 0, kTraceExit}), kAllowed) << stack->name;
  }
}

TEST(FilterRules, RootInsideDoesNotReachTheAgentButItsOwnChildren) {
  for (const Stack* stack : {&kRun, &kSession, &kSessionWithMounts, &kJoinedInSession}) {
    for (const long number : {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler,
                              SYS_sched_setparam, SYS_sched_setattr}) {
      for (const std::uint64_t pid : {std::uint64_t{1}, kHigh | 1}) {
        EXPECT_EQ(stack->answer(number, {pid}), refused(EPERM)) << stack->name << " " << number;
      }
      for (const std::uint64_t pid : {0ull, 2ull, 17ull, 100001ull}) {
        EXPECT_EQ(stack->answer(number, {pid}), kAllowed)
            << stack->name << " " << number << " of " << pid;
      }
    }
    for (const long number : {SYS_setpriority, SYS_ioprio_set}) {
      EXPECT_EQ(stack->answer(number, {0, 1}), refused(EPERM)) << stack->name << " " << number;
      EXPECT_EQ(stack->answer(number, {0, 2}), kAllowed) << stack->name << " " << number;
    }
  }
}

TEST(FilterRules, TheProcessEngineReachesNoOtherProcess) {
  const Stack& stack = kProcessEngine;
  for (const long number : {SYS_ptrace,
                            SYS_process_vm_readv,
                            SYS_process_vm_writev,
                            SYS_process_madvise,
                            SYS_shmget,
                            SYS_semget,
                            SYS_msgget,
                            SYS_mq_open,
                            SYS_chmod,
                            SYS_fchmodat,
                            SYS_chown,
                            SYS_lchown,
                            SYS_fchownat,
                            SYS_utime,
                            SYS_utimes,
                            SYS_futimesat,
                            SYS_setxattr,
                            SYS_lsetxattr,
                            SYS_removexattr,
                            SYS_lremovexattr,
                            SYS_truncate,
                            SYS_kill,
                            SYS_tkill,
                            SYS_tgkill,
                            SYS_rt_sigqueueinfo,
                            SYS_rt_tgsigqueueinfo,
                            SYS_pidfd_send_signal}) {
    EXPECT_EQ(stack.answer(number, {}), refused(EPERM)) << number;
  }
  EXPECT_EQ(stack.answer(SYS_socket, {AF_UNIX, SOCK_STREAM, 0}), refused(EAFNOSUPPORT));
  for (const long number : {SYS_prlimit64, SYS_sched_setaffinity, SYS_sched_setscheduler,
                            SYS_sched_setparam, SYS_sched_setattr}) {
    EXPECT_EQ(stack.answer(number, {0}), kAllowed) << number;
    EXPECT_EQ(stack.answer(number, {17}), refused(EPERM)) << number;
  }
  EXPECT_EQ(stack.answer(SYS_setpriority, {0, 0}), kAllowed);
  EXPECT_EQ(stack.answer(SYS_setpriority, {0, 17}), refused(EPERM));
  EXPECT_EQ(stack.answer(SYS_utimensat, {3, 0}), kAllowed);
  EXPECT_EQ(stack.answer(SYS_utimensat, {3, 0x1000}), refused(EPERM));
}

}  // namespace
}  // namespace glovebox::agent
