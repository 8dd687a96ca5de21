#include "supervisor/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

namespace glovebox::supervisor {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

// glibc 2.36 has the function, but not for C++ before 2.37.
UniqueFd open_pidfd(pid_t pid) {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

pid_t listener_pid(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return 0;
  return peer.pid;
}

pid_t lock_holder_pid(int fd) {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid > 0 ? lock.l_pid : 0;
}

}  // namespace

Result<Process> start(const StartPlan& plan) {
  std::vector<std::string> words = {plan.program.substr(plan.program.rfind('/') + 1)};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, plan.output >= 0 ? plan.output : 2, 1);
  if (plan.fd3 >= 0) ::posix_spawn_file_actions_adddup2(&actions, plan.fd3, 3);
  // Ours are all CLOEXEC; those that we inherited may not be.
  ::posix_spawn_file_actions_addclosefrom_np(&actions, plan.fd3 >= 0 ? 4 : 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, every;
  ::sigemptyset(&none);
  ::sigfillset(&every);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &every);
  // In a session of its own: only the supervisor gets a terminal's Ctrl-C, and the program outlives
  // the terminal and the supervisor.
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, plan.program.c_str(), &actions, &attributes,
                                  pointers(words).data(), pointers(plan.environment).data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(Error::from_errno("start " + plan.program, error));
  // A child's pid is not reused before we have waited for it.
  Process process{pid, open_pidfd(pid), true};
  if (!process) {
    const Error failed = Error::from_errno("pidfd_open");
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    return fail(failed);
  }
  return process;
}

Result<> send_signal(const Process& process, int signal) {
  if (::syscall(SYS_pidfd_send_signal, process.pidfd.get(), signal, nullptr, 0) != 0) {
    return fail(Error::from_errno("send a signal"));
  }
  return {};
}

bool is_alive(const Process& process) {
  pollfd ended{process.pidfd.get(), POLLIN, 0};
  return process && ::poll(&ended, 1, 0) == 0;
}

ProcessEnding reap(const Process& process) {
  ProcessEnding ending;
  if (!process.is_child) return ending;
  siginfo_t info{};
  constexpr auto kByPidfd = static_cast<idtype_t>(3);  // P_PIDFD
  if (::waitid(kByPidfd, static_cast<id_t>(process.pidfd.get()), &info, WEXITED | WNOHANG) != 0 ||
      info.si_pid == 0) {
    return ending;
  }
  ending.by_itself = info.si_code == CLD_EXITED;
  ending.text = (ending.by_itself ? "status " : "signal ") + std::to_string(info.si_status);
  return ending;
}

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, path + " is too long for the path of a socket");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  // Non-blocking: with a full backlog this fails (EAGAIN) instead of waiting for a hung process.
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(Error::from_errno("connect to " + path));
  }
  return socket;
}

// The kernel reports the pid that called listen(), but the pid may be reused by the time we open
// it. So: connect, open the pidfd, and check that the connection is still open and the process
// alive. A connection ends with its process, so that process had the pid all the time.
std::optional<ListeningProcess> find_listener(const std::string& path) {
  auto socket = connect_to(path);
  if (!socket) return std::nullopt;
  const pid_t pid = listener_pid(socket->get());
  if (pid <= 0) return std::nullopt;
  ListeningProcess found{{pid, open_pidfd(pid), false}, std::move(*socket)};
  pollfd connection{found.socket.get(), POLLIN, 0};
  const bool stands = ::poll(&connection, 1, 0) >= 0 && (connection.revents & POLLHUP) == 0;
  if (!stands || !is_alive(found.process)) return std::nullopt;
  return found;
}

// The kernel reports the holder of a record lock, which lives while it holds it. The pidfd is
// opened between two queries: if both report the same pid, it belongs to the holder.
std::optional<Process> find_lock_holder(int fd) {
  const pid_t pid = lock_holder_pid(fd);
  if (pid <= 0) return std::nullopt;
  Process holder{pid, open_pidfd(pid), false};
  if (lock_holder_pid(fd) != pid || !is_alive(holder)) return std::nullopt;
  return holder;
}

}  // namespace glovebox::supervisor
