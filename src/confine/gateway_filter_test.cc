#include "confine/gateway_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/netlink.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

namespace glovebox::confine {
namespace {

// In a child behind the filter. Its exit status, or 200 + the signal that ended it.
template <class Body>
int behind_filter(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!install_gateway_filter()) ::_exit(100);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

// What a relay does, from the first call to the last.
TEST(GatewayFilter, LetsAConnectionBeDialledAndSpliced) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 5), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EXPECT_EQ(behind_filter([&] {
              const int out = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
              if (out < 0) return 1;
              if (::connect(out, reinterpret_cast<const sockaddr*>(&address), size) != 0 &&
                  errno != EINPROGRESS) {
                return 2;
              }
              const int in = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
              int pipe[2];
              if (in < 0 || ::pipe2(pipe, O_CLOEXEC | O_NONBLOCK) != 0) return 3;
              if (::fcntl(pipe[1], F_SETPIPE_SZ, 65536) < 0) return 4;
              if (::send(in, "ping", 4, MSG_NOSIGNAL) != 4) return 5;
              if (::send(out, "pong", 4, MSG_NOSIGNAL) != 4) return 7;
              if (::splice(in, nullptr, pipe[1], nullptr, 4, 0) != 4) return 8;
              if (::splice(pipe[0], nullptr, in, nullptr, 4, 0) != 4) return 9;
              const linger reset{1, 0};
              if (::setsockopt(in, SOL_SOCKET, SO_LINGER, &reset, sizeof reset) != 0) return 10;
              return ::shutdown(out, SHUT_WR) == 0 ? 0 : 11;
            }),
            0);
  ::close(listener);
}

TEST(GatewayFilter, LetsTheResolverAskAndTheKernelBeAsked) {
  EXPECT_EQ(behind_filter([] {
              if (::socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) < 0) return 1;
              if (::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) < 0) return 2;
              const int file = ::open("/etc/resolv.conf", O_RDONLY | O_CLOEXEC);
              return file >= 0 || errno == ENOENT ? 0 : 3;
            }),
            0);
}

TEST(GatewayFilter, LetsTheEventLoopWait) {
  EXPECT_EQ(behind_filter([] {
              const int poll = ::epoll_create1(EPOLL_CLOEXEC);
              const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
              const itimerspec soon{{0, 0}, {0, 1000}};
              if (poll < 0 || ::timerfd_settime(timer, 0, &soon, nullptr) != 0) return 1;
              epoll_event wanted{EPOLLIN, {}};
              if (::epoll_ctl(poll, EPOLL_CTL_ADD, timer, &wanted) != 0) return 2;
              return ::epoll_wait(poll, &wanted, 1, 5000) == 1 ? 0 : 3;
            }),
            0);
}

TEST(GatewayFilter, ExecEndsTheProcess) {
  EXPECT_EQ(behind_filter([] {
              ::execl("/bin/true", "true", nullptr);
              return 0;
            }),
            200 + SIGSYS);
}

// Each is something the kernel would let an ordinary user at least try.
struct Refused {
  const char* what;
  long (*call)();
};

constexpr Refused kRefused[] = {
    {"fork", [] { return long{::fork()}; }},
    {"a thread", [] { return ::syscall(SYS_clone, CLONE_VM | CLONE_SIGHAND | CLONE_THREAD, 0); }},
    {"clone3", [] { return ::syscall(SYS_clone3, nullptr, 0); }},
    {"a namespace", [] { return long{::unshare(CLONE_NEWUSER)}; }},
    {"another's namespace", [] { return long{::setns(0, 0)}; }},
    {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"process_vm_readv", [] { return ::syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }},
    {"mount", [] { return long{::mount("a", "/tmp", "tmpfs", 0, nullptr)}; }},
    {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
    {"io_uring", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"a signal to another", [] { return long{::kill(::getppid(), 0)}; }},
    {"a pidfd", [] { return ::syscall(SYS_pidfd_open, ::getppid(), 0); }},
    {"a descriptor of another", [] { return ::syscall(SYS_pidfd_getfd, 0, 0, 0); }},
    {"a local socket", [] { return long{::socket(AF_UNIX, SOCK_STREAM, 0)}; }},
    {"a pair of local sockets",
     [] {
       int pair[2];
       return long{::socketpair(AF_UNIX, SOCK_STREAM, 0, pair)};
     }},
    {"a raw socket", [] { return long{::socket(AF_INET, SOCK_RAW, IPPROTO_ICMP)}; }},
    {"a packet socket", [] { return long{::socket(AF_PACKET, SOCK_RAW, 0)}; }},
    {"a vsock", [] { return long{::socket(AF_VSOCK, SOCK_STREAM, 0)}; }},
    {"another netlink", [] { return long{::socket(AF_NETLINK, SOCK_RAW, NETLINK_NETFILTER)}; }},
    {"a port of its own", [] { return long{::bind(0, nullptr, 0)}; }},
    {"listening", [] { return long{::listen(0, 1)}; }},
    {"writing to a file", [] { return long{::open("/dev/null", O_WRONLY)}; }},
    {"making a file", [] { return long{::open("/tmp/gbx-no", O_RDONLY | O_CREAT, 0600)}; }},
    {"a temporary file", [] { return long{::open("/tmp", O_RDWR | O_TMPFILE, 0600)}; }},
    {"listing a directory", [] { return long{::open("/tmp", O_RDONLY | O_DIRECTORY)}; }},
    {"openat2", [] { return ::syscall(SYS_openat2, AT_FDCWD, "/", nullptr, 0); }},
    {"removing a file", [] { return long{::unlink("/nonexistent")}; }},
    {"renaming a file", [] { return long{::rename("/nonexistent", "/nonexistent2")}; }},
    {"setuid", [] { return ::syscall(SYS_setuid, 65534); }},
    {"executable memory",
     [] {
       void* made =
           ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return made == MAP_FAILED ? -1L : 0L;
     }},
    {"raising its limits", [] { return ::syscall(SYS_prlimit64, 0, 7, "0123456789abcdef", 0); }},
    {"making itself dumpable", [] { return long{::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)}; }},
};

TEST(GatewayFilter, RefusesWhatAGatewayNeverDoes) {
  for (const Refused& refused : kRefused) {
    EXPECT_EQ(behind_filter([&] {
                errno = 0;
                return refused.call() == -1 && errno == EPERM ? 0 : 1;
              }),
              0)
        << refused.what;
  }
}

}  // namespace
}  // namespace glovebox::confine
