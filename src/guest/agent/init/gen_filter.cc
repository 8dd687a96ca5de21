// Build-time program: writes the guest's system-call filter as C arrays.
//
// openat2 is not on the list: its mode is behind a pointer that a filter cannot follow, and callers
// fall back to openat. The list is grouped by what a program needs the calls for. What is not on it
// does not exist (ENOSYS), so that libraries fall back as on an older kernel; what exists but is
// refused on purpose answers EPERM, which is what a container's user is used to.
#include <errno.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <initializer_list>
#include <string>

#include "guest/agent/init/call_list.h"
#include "guest/agent/init/filter_calls.h"

namespace {

using namespace glovebox::agent;  // the lists

void must(int done, const std::string& what) {
  if (done >= 0) return;
  fprintf(stderr, "gen_filter: %s: %s\n", what.c_str(), strerror(-done));
  exit(1);
}

void add_one(CallList& list, std::uint32_t answer, const char* name) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number == __NR_SCMP_ERROR) {
    fprintf(stderr, "gen_filter: libseccomp does not know '%s'\n", name);
    exit(1);
  }
  if (number < 0) return;  // not on this architecture
  if (!list.add(static_cast<std::uint32_t>(number), answer)) must(-EEXIST, name);
}

template <std::size_t N>
void add_all(CallList& list, std::uint32_t answer, const char* const (&names)[N]) {
  for (const char* name : names) add_one(list, answer, name);
}

scmp_filter_ctx begin(std::uint32_t default_action) {
  scmp_filter_ctx filter = seccomp_init(default_action);
  if (filter == nullptr) exit(1);
  // 32-bit and x32 calls have other numbers for other things: none of them exists here.
  must(seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)), "bad arch");
  must(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2), "binary tree");
  // The caller sets no_new_privs itself; libseccomp is only the compiler here.
  must(seccomp_attr_set(filter, SCMP_FLTATR_CTL_NNP, 0), "nnp");
  return filter;
}

constexpr std::uint64_t kLow32 = 0xffffffffull;  // the kernel looks at no more of an int argument

void refuse_ioctls(scmp_filter_ctx filter) {
  // Characters pushed into a terminal, and the console's own commands, act on the process that
  // reads it.
  for (const std::uint64_t command : {0x5412ull /* TIOCSTI */, 0x541cull /* TIOCLINUX */,
                                      0x5423ull /* TIOCSETD: loads modules */}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, command)),
         "ioctl");
  }
}

void refuse_namespaces(scmp_filter_ctx filter) {
  for (const std::uint64_t flag : {CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                   CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET}) {
    const std::uint64_t bit = flag & kLow32;
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)),
         "clone");
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit)),
         "unshare");
  }
  constexpr std::uint64_t kNewTime = 0x80;
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
                        SCMP_A0(SCMP_CMP_MASKED_EQ, kNewTime, kNewTime)),
       "unshare time");
  // Its flags are behind a pointer that a filter cannot follow; glibc falls back to clone.
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "clone3");
}

void refuse_sockets(scmp_filter_ctx filter) {
  const auto refuse_family = [&](std::uint64_t family) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, family)),
         "socket");
  };
  // Unix and Internet sockets only. Of the others, netlink is the one that programs know: but what
  // waits in its sockets is kernel memory that is not charged, so it would be a way past
  // the memory limit, and in a sandbox with nothing but loopback there is little to ask it.
  for (std::uint64_t family = 0; family < AF_INET6; ++family) {
    if (family != AF_UNIX && family != AF_INET) refuse_family(family);
  }
  // Everything newer (netlink, packet, alg, vsock, xdp, ...), and what only looks like an old one
  // because of bits above the 32 that the kernel reads.
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                        SCMP_A0(SCMP_CMP_GT, AF_INET6)),
       "socket family");
  // A pair of anything but Unix sockets would have the kernel load and ask that family first.
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socketpair), 1,
                        SCMP_A0(SCMP_CMP_NE, AF_UNIX)),
       "socketpair");
  struct Types {
    std::uint64_t mask;
    std::uint64_t value;
    int error;
  };
  // Streams and datagrams only; every other type is here exactly once. The kernel's own flags
  // (SOCK_CLOEXEC, SOCK_NONBLOCK) are above these four bits. SOCK_SEQPACKET would reach SCTP, and
  // other types would have the kernel look for modules.
  static constexpr Types kOtherTypes[] = {
      {0x7, 0, ESOCKTNOSUPPORT},  // none, and 8
      {0xf, SOCK_RAW, EPERM},
      {0x4, 0x4, ESOCKTNOSUPPORT},  // SOCK_RDM, SOCK_SEQPACKET,
                                    // SOCK_DCCP, 7, and 12 to 15
      {0xf, 9, ESOCKTNOSUPPORT},
      {0xf, SOCK_PACKET, EPERM},
      {0xf, 11, ESOCKTNOSUPPORT},
  };
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    // UDP (17) is the highest that is wanted. Above it are SCTP, UDP-Lite, MPTCP and the like: much
    // kernel for little use. What is below needs a raw socket.
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                          SCMP_A0(SCMP_CMP_EQ, family), SCMP_A2(SCMP_CMP_GT, 17)),
         "protocol");
    for (const Types& types : kOtherTypes) {
      must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(static_cast<std::uint32_t>(types.error)),
                            SCMP_SYS(socket), 2, SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, family),
                            SCMP_A1(SCMP_CMP_MASKED_EQ, types.mask, types.value)),
           "socket type");
    }
  }
}

// Options that a kernel may be built without, and programs can do without.
void refuse_socket_options(scmp_filter_ctx filter) {
  struct SocketOption {
    std::uint64_t level;
    std::uint64_t name;
  };
  static constexpr SocketOption kOptions[] = {
      {IPPROTO_TCP, 31},  // TCP_ULP: TLS in the kernel, much code that reads what peers send
      // IPV6_FLOWLABEL_MGR: labels outlive their socket by up to a minute, and all namespaces of
      // the host share one small table of them.
      {IPPROTO_IPV6, 32},
      // Programs for the kernel: their machine code comes out of one budget of the whole host
      // (net.core.bpf_jit_limit), without which no sandbox can start.
      {SOL_SOCKET, 26},  // SO_ATTACH_FILTER
      {SOL_SOCKET, 50},  // SO_ATTACH_BPF
      {SOL_SOCKET, 51},  // SO_ATTACH_REUSEPORT_CBPF
      {SOL_SOCKET, 52},  // SO_ATTACH_REUSEPORT_EBPF
  };
  for (const SocketOption& option : kOptions) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOPROTOOPT), SCMP_SYS(setsockopt), 2,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, option.level),
                          SCMP_A2(SCMP_CMP_MASKED_EQ, kLow32, option.name)),
         "setsockopt");
  }
}

// A guest's own filters: for the same reason as above. EINVAL is the answer of a kernel without
// filters, which programs that would like one know. The filter with this rule is the last that can
// be installed.
void refuse_more_filters(scmp_filter_ctx filter) {
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(seccomp), 1,
                        SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, 1 /* SET_MODE_FILTER */)),
       "seccomp");
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EINVAL), SCMP_SYS(prctl), 2,
                        SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, 22 /* PR_SET_SECCOMP */),
                        SCMP_A1(SCMP_CMP_EQ, 2 /* SECCOMP_MODE_FILTER */)),
       "prctl");
}

// User notifications: a large kernel interface without ordinary use. For those that may still
// install filters.
void refuse_listeners(scmp_filter_ctx filter) {
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(seccomp), 1,
                        SCMP_A1(SCMP_CMP_MASKED_EQ, 8, 8 /* FLAG_NEW_LISTENER */)),
       "listener");
}

// A setuid file in a host directory that is mounted writable would be setuid on the host.
void refuse_setuid_files(scmp_filter_ctx filter) {
  const auto refuse = [&](int number, std::initializer_list<scmp_arg_cmp> when, const char* what) {
    must(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM), number,
                                static_cast<unsigned>(when.size()), when.begin()),
         what);
  };
  constexpr std::uint64_t kCreate = 0100;        // O_CREAT
  constexpr std::uint64_t kTmpfile = 020000000;  // O_TMPFILE's own bit
  for (const std::uint64_t bit : {04000ull, 02000ull}) {
    refuse(SCMP_SYS(chmod), {SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit)}, "chmod");
    refuse(SCMP_SYS(fchmod), {SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit)}, "fchmod");
    refuse(SCMP_SYS(fchmodat), {SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit)}, "fchmodat");
    refuse(SCMP_SYS(mknod), {SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit)}, "mknod");
    refuse(SCMP_SYS(mknodat), {SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit)}, "mknodat");
    refuse(SCMP_SYS(creat), {SCMP_A1(SCMP_CMP_MASKED_EQ, bit, bit)}, "creat");
    for (const std::uint64_t makes : {kCreate, kTmpfile}) {  // else the mode is ignored
      refuse(SCMP_SYS(open),
             {SCMP_A1(SCMP_CMP_MASKED_EQ, makes, makes), SCMP_A2(SCMP_CMP_MASKED_EQ, bit, bit)},
             "open");
      refuse(SCMP_SYS(openat),
             {SCMP_A2(SCMP_CMP_MASKED_EQ, makes, makes), SCMP_A3(SCMP_CMP_MASKED_EQ, bit, bit)},
             "openat");
    }
  }
}

void refuse_held_tracees(scmp_filter_ctx filter) {
  // A tracee that stops at its exit dies only when its tracer lets it, even if it is killed: two
  // that trace each other so would never die, and neither would their sandbox.
  for (const std::uint64_t request : {0x4206ull /* SEIZE */, 0x4200ull /* SETOPTIONS */}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ptrace), 2,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, request),
                          SCMP_A3(SCMP_CMP_MASKED_EQ, 0x40, 0x40 /* PTRACE_O_TRACEEXIT */)),
         "hold at exit");
  }
}

// The process engine has no namespace between the guest and the host's other processes, so what
// reaches them is refused by name.
void refuse_for_process_engine(scmp_filter_ctx filter) {
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 0), "socket");
  for (const int number : {SCMP_SYS(ptrace), SCMP_SYS(process_vm_readv),
                           SCMP_SYS(process_vm_writev), SCMP_SYS(process_madvise), SCMP_SYS(shmget),
                           SCMP_SYS(semget), SCMP_SYS(msgget), SCMP_SYS(mq_open)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0), "process");
  }
  // Landlock says who may read and write a file, not who may change its mode, owner, times or
  // attributes (nor, before ABI 3, its length): by name, these could reach any file of our user's.
  // The same on an open descriptor stays.
  for (const int number :
       {SCMP_SYS(chmod), SCMP_SYS(fchmodat), SCMP_SYS(chown), SCMP_SYS(lchown), SCMP_SYS(fchownat),
        SCMP_SYS(utime), SCMP_SYS(utimes), SCMP_SYS(futimesat), SCMP_SYS(setxattr),
        SCMP_SYS(lsetxattr), SCMP_SYS(removexattr), SCMP_SYS(lremovexattr), SCMP_SYS(truncate)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0), "by name");
  }
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(utimensat), 1,
                        SCMP_A1(SCMP_CMP_NE, 0)),  // futimens() gives no name
       "utimensat");
  // Zero is the caller itself.
  for (const int number :
       {SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
        SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 1, SCMP_A0(SCMP_CMP_NE, 0)),
         "other");
  }
  must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setpriority), 1,
                        SCMP_A1(SCMP_CMP_NE, 0)),
       "setpriority");
}

// Root inside a sandbox has the agent's own uid: what the kernel lets one do to a process of the
// same user is refused where it would reach the agent.
void refuse_reaching_the_agent(scmp_filter_ctx filter) {
  for (const int number :
       {SCMP_SYS(prlimit64), SCMP_SYS(sched_setaffinity), SCMP_SYS(sched_setscheduler),
        SCMP_SYS(sched_setparam), SCMP_SYS(sched_setattr)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 1,
                          SCMP_A0(SCMP_CMP_MASKED_EQ, kLow32, 1)),
         "limit or schedule the agent");
  }
  for (const int number : {SCMP_SYS(setpriority), SCMP_SYS(ioprio_set)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 1,
                          SCMP_A1(SCMP_CMP_MASKED_EQ, kLow32, 1)),
         "slow the agent down");
  }
}

// Where neither another uid nor Landlock (ABI 6) keeps signals in.
void refuse_signals(scmp_filter_ctx filter) {
  for (const int number :
       {SCMP_SYS(kill), SCMP_SYS(tkill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
        SCMP_SYS(rt_tgsigqueueinfo), SCMP_SYS(pidfd_send_signal)}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0), "signal");
  }
}

// libseccomp writes to a file only.
CallList::Filter compile(scmp_filter_ctx filter) {
  char path[] = "/tmp/gen_filter_XXXXXX";
  const int fd = mkstemp(path);
  if (fd < 0) exit(1);
  unlink(path);
  must(seccomp_export_bpf(filter, fd), "export");
  CallList::Filter program(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)) / sizeof(sock_filter));
  if (pread(fd, program.data(), program.size() * sizeof(sock_filter), 0) !=
      static_cast<ssize_t>(program.size() * sizeof(sock_filter))) {
    exit(1);
  }
  close(fd);
  seccomp_release(filter);
  return program;
}

// Address randomisation must stay on: only "what is it" and the plain personality.
CallList::Filter personalities() {
  scmp_filter_ctx filter = begin(SCMP_ACT_ERRNO(ENOSYS));
  for (const std::uint64_t persona : {0x0ull, 0xffffffffull, 0x8ull}) {
    must(seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(personality), 1,
                          SCMP_A0(SCMP_CMP_EQ, persona)),
         "personality");
  }
  return compile(filter);
}

// The calls that exist. A zygote has one more than a guest: its children join sandboxes. So has a
// session: its root may change roots (package tools do).
enum class For { kRun, kZygote, kSession };
CallList::Filter allow_list(For whom) {
  CallList list(seccomp_arch_native(), SCMP_ACT_ERRNO(ENOSYS));
  add_all(list, SCMP_ACT_ALLOW, kFiles);
  add_all(list, SCMP_ACT_ALLOW, kMemory);
  add_all(list, SCMP_ACT_ALLOW, kProcesses);
  add_all(list, SCMP_ACT_ALLOW, kScheduling);
  add_all(list, SCMP_ACT_ALLOW, kSignalCalls);
  add_all(list, SCMP_ACT_ALLOW, kWaiting);
  add_all(list, SCMP_ACT_ALLOW, kTime);
  add_all(list, SCMP_ACT_ALLOW, kSockets);
  add_all(list, SCMP_ACT_ALLOW, kIpc);
  add_all(list, SCMP_ACT_ALLOW, kSystem);
  for (const char* name : kRefused) {
    const bool more = (whom == For::kZygote && std::string(name) == "setns") ||
                      (whom == For::kSession && std::string(name) == "chroot");
    add_one(list, more ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO(EPERM), name);
  }
  // sync() succeeds without effect: it would write back every disk of the host. fsync is there for
  // one's own.
  add_one(list, SCMP_ACT_ERRNO(0), "sync");
  if (!list.add(SCMP_SYS(personality), personalities())) must(-EEXIST, "personality");
  CallList::Filter filter = list.compile();
  if (filter.empty()) must(-E2BIG, "the list of calls");
  return filter;
}

void write_array(const CallList::Filter& filter, const char* name, FILE* to) {
  fprintf(to, "constexpr sock_filter %s[] = {\n", name);
  for (const sock_filter& op : filter) {
    fprintf(to, "{0x%04x,%u,%u,0x%08x},\n", op.code, op.jt, op.jf, op.k);
  }
  fprintf(to, "};\n");
}

void write_array(scmp_filter_ctx filter, const char* name, FILE* to) {
  write_array(compile(filter), name, to);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  FILE* to = fopen(argv[1], "w");
  if (to == nullptr) return 1;

  // Of a run, and of a zygote, whose children add one more (see kJoined).
  for (const bool zygote : {false, true}) {
    scmp_filter_ctx refuse = begin(SCMP_ACT_ALLOW);
    refuse_ioctls(refuse);
    refuse_namespaces(refuse);
    refuse_sockets(refuse);
    refuse_socket_options(refuse);
    refuse_setuid_files(refuse);
    refuse_held_tracees(refuse);
    // An image may say that its program is root's, which is the agent. A zygote's child never is.
    if (!zygote) refuse_reaching_the_agent(refuse);
    zygote ? refuse_listeners(refuse) : refuse_more_filters(refuse);
    write_array(refuse, zygote ? "kRefuseZygote" : "kRefuse", to);
  }

  write_array(allow_list(For::kRun), "kAllow", to);
  write_array(allow_list(For::kZygote), "kAllowZygote", to);

  // Setuid files are what sudo is; package tools make them. Only where a host's directory is
  // mounted writable they are refused as in a run.
  for (const bool setuid_files : {true, false}) {
    scmp_filter_ctx session = begin(SCMP_ACT_ALLOW);
    refuse_ioctls(session);
    refuse_namespaces(session);
    refuse_sockets(session);
    refuse_socket_options(session);
    if (!setuid_files) refuse_setuid_files(session);
    refuse_held_tracees(session);
    refuse_reaching_the_agent(session);
    refuse_more_filters(session);
    write_array(session, setuid_files ? "kRefuseSession" : "kRefuseSessionWithMounts", to);
  }
  write_array(allow_list(For::kSession), "kAllowSession", to);

  // What a zygote has more than a guest, and its children give up.
  scmp_filter_ctx joined = begin(SCMP_ACT_ALLOW);
  must(seccomp_rule_add(joined, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setns), 0), "setns");
  refuse_more_filters(joined);
  write_array(joined, "kJoined", to);
  scmp_filter_ctx joined_session = begin(SCMP_ACT_ALLOW);
  must(seccomp_rule_add(joined_session, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(setns), 0), "setns");
  refuse_reaching_the_agent(joined_session);
  refuse_more_filters(joined_session);
  write_array(joined_session, "kJoinedSession", to);

  scmp_filter_ctx process = begin(SCMP_ACT_ALLOW);
  refuse_for_process_engine(process);
  write_array(process, "kProcess", to);
  scmp_filter_ctx signals = begin(SCMP_ACT_ALLOW);
  refuse_signals(signals);
  write_array(signals, "kSignals", to);
  return fclose(to) == 0 ? 0 : 1;
}
