#include "confine/server_filter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <thread>

namespace glovebox::confine {
namespace {

// In a child behind the filter. Its exit status, or 200 + the signal that ended it.
template <class Body>
int behind_filter(Body body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (!install_server_filter()) ::_exit(100);
    ::_exit(body());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 200 + WTERMSIG(status);
}

int write_a_database(const std::string& path) {
  sqlite3* db = nullptr;
  if (sqlite3_open(path.c_str(), &db) != SQLITE_OK) return 1;
  for (const char* sql :
       {"PRAGMA journal_mode=WAL", "PRAGMA mmap_size=1048576", "CREATE TABLE t(a)", "BEGIN",
        "INSERT INTO t VALUES(randomblob(100000))", "COMMIT", "PRAGMA wal_checkpoint(TRUNCATE)",
        "VACUUM", "SELECT count(*) FROM t ORDER BY 1"}) {
    char* error = nullptr;
    if (sqlite3_exec(db, sql, nullptr, nullptr, &error) != SQLITE_OK) {
      dprintf(2, "%s: %s\n", sql, error);
      return 2;
    }
  }
  return sqlite3_close(db) == SQLITE_OK ? 0 : 3;
}

TEST(ServerFilter, LetsTheStoreWork) {
  char name[] = "/tmp/gbx-filter-XXXXXX";
  const std::string directory = ::mkdtemp(name);
  EXPECT_EQ(behind_filter([&] { return write_a_database(directory + "/a.db"); }), 0);
  EXPECT_TRUE(std::filesystem::exists(directory + "/a.db"));
  std::filesystem::remove_all(directory);
}

TEST(ServerFilter, LetsThreadsStart) {
  EXPECT_EQ(behind_filter([] {
              int value = 1;
              std::thread([&] { value = 0; }).join();
              return value;
            }),
            0);
}

TEST(ServerFilter, LetsOpenSocketsServe) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 5), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const int client = ::socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(::connect(client, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::send(client, "ping", 4, 0), 4);
  EXPECT_EQ(behind_filter([&] {
              const int accepted = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
              int on = 1;
              if (accepted < 0 || ::ioctl(accepted, FIONBIO, &on) != 0) return 1;
              char text[4];
              if (::recv(accepted, text, 4, 0) != 4) return 2;
              return ::send(accepted, "pong", 4, MSG_NOSIGNAL) == 4 ? 0 : 3;
            }),
            0);
  char text[4];
  EXPECT_EQ(::recv(client, text, 4, 0), 4);
  ::close(client);
  ::close(listener);
}

TEST(ServerFilter, LetsTheEventLoopWait) {
  EXPECT_EQ(behind_filter([] {
              const int poll = ::epoll_create1(EPOLL_CLOEXEC);
              const int event = ::eventfd(1, EFD_NONBLOCK);
              const int timer = ::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
              const itimerspec soon{{0, 0}, {0, 1000}};
              if (poll < 0 || event < 0 || ::timerfd_settime(timer, 0, &soon, nullptr) != 0)
                return 1;
              epoll_event wanted{EPOLLIN, {}};
              if (::epoll_ctl(poll, EPOLL_CTL_ADD, event, &wanted) != 0) return 2;
              if (::epoll_ctl(poll, EPOLL_CTL_ADD, timer, &wanted) != 0) return 3;
              if (::epoll_wait(poll, &wanted, 1, 5000) != 1) return 4;
              int pair[2];
              if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return 5;
              char bytes[16];
              return ::getrandom(bytes, sizeof bytes, 0) == 16 ? 0 : 6;
            }),
            0);
}

TEST(ServerFilter, LetsAbortEndIt) {
  EXPECT_EQ(behind_filter([] {
              ::signal(SIGABRT, SIG_DFL);
              ::abort();
              return 0;
            }),
            200 + SIGABRT);
}

TEST(ServerFilter, ExecEndsTheProcess) {
  EXPECT_EQ(behind_filter([] {
              ::execl("/bin/true", "true", nullptr);
              return 0;
            }),
            200 + SIGSYS);
  EXPECT_EQ(behind_filter([] {
              ::syscall(SYS_execveat, AT_FDCWD, "/bin/true", nullptr, nullptr, 0);
              return 0;
            }),
            200 + SIGSYS);
}

// Each is something the kernel would let an ordinary user at least try.
struct Refused {
  const char* what;
  long (*call)();
  int error = EPERM;
};

constexpr Refused kRefused[] = {
    {"fork", [] { return long{::fork()}; }},
    {"vfork without a thread", [] { return ::syscall(SYS_clone, SIGCHLD | CLONE_VM, 0, 0, 0, 0); }},
    {"clone3", [] { return ::syscall(SYS_clone3, nullptr, 0); }, ENOSYS},
    {"a user namespace", [] { return long{::unshare(CLONE_NEWUSER)}; }},
    {"setns", [] { return long{::setns(0, 0)}; }},
    {"ptrace", [] { return ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr); }},
    {"process_vm_readv", [] { return ::syscall(SYS_process_vm_readv, 1, 0, 0, 0, 0, 0); }},
    {"mount", [] { return long{::mount("a", "/tmp", "tmpfs", 0, nullptr)}; }},
    {"bpf", [] { return ::syscall(SYS_bpf, 0, nullptr, 0); }},
    {"keyctl", [] { return ::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, 0, 0); }},
    {"io_uring", [] { return ::syscall(SYS_io_uring_setup, 1, nullptr); }},
    {"userfaultfd", [] { return ::syscall(SYS_userfaultfd, 1); }},
    {"perf", [] { return ::syscall(SYS_perf_event_open, nullptr, 0, 0, 0, 0); }},
    {"kill of another", [] { return long{::kill(::getppid(), 0)}; }},
    {"tgkill of another", [] { return ::syscall(SYS_tgkill, ::getppid(), ::getppid(), 0); }},
    {"pidfd_open", [] { return ::syscall(SYS_pidfd_open, ::getppid(), 0); }},
    {"a TCP socket", [] { return long{::socket(AF_INET, SOCK_STREAM, 0)}; }},
    {"a netlink socket", [] { return long{::socket(AF_NETLINK, SOCK_RAW, 0)}; }},
    {"connect", [] { return long{::connect(0, nullptr, 0)}; }},
    {"bind", [] { return long{::bind(0, nullptr, 0)}; }},
    {"a pair that can send anywhere",
     [] {
       int pair[2];
       return long{::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)};
     }},
    {"setuid", [] { return ::syscall(SYS_setuid, 65534); }},
    {"chmod", [] { return ::syscall(SYS_chmod, "/nonexistent", 0); }},
    {"chown", [] { return ::syscall(SYS_chown, "/nonexistent", 0, 0); }},
    {"a device", [] { return ::syscall(SYS_mknod, "/nonexistent/a", 0, 0); }},
    {"executable memory",
     [] {
       void* made =
           ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return made == MAP_FAILED ? -1L : 0L;
     }},
    {"raising its limits", [] { return ::syscall(SYS_prlimit64, 0, 7, "0123456789abcdef", 0); }},
    {"making itself dumpable", [] { return long{::prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)}; }},
    {"characters for a terminal", [] { return long{::ioctl(0, TIOCSTI, "a")}; }},
};

TEST(ServerFilter, RefusesWhatAServerNeverDoes) {
  for (const Refused& refused : kRefused) {
    EXPECT_EQ(behind_filter([&] {
                errno = 0;
                return refused.call() == -1 && errno == refused.error ? 0 : 1;
              }),
              0)
        << refused.what;
  }
}

}  // namespace
}  // namespace glovebox::confine
