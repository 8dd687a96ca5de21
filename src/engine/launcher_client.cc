#include "engine/launcher_client.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/fd_message.h"

namespace glovebox::engine {
namespace {

constexpr int kLauncherFd = 3;

Result<UniqueFd> connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, "the launcher's socket path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(Error::from_errno("connect to launcher at " + path));
  }
  return socket;
}

// Nothing of the caller's environment but where its own directories are.
std::vector<std::string> launcher_environment() {
  std::vector<std::string> environment;
  for (const char* name :
       {"HOME", "XDG_RUNTIME_DIR", "XDG_CACHE_HOME", "GLOVEBOX_LOG", "GLOVEBOX_LOG_FORMAT"}) {
    if (const char* value = std::getenv(name))
      environment.push_back(std::string(name) + "=" + value);
  }
  return environment;
}

struct Started {
  UniqueFd socket;
  pid_t pid;
};

ServePrivately serve_privately = nullptr;

// The child of a fork: no descriptor or signal mask of the client's stays with it. What it starts
// in a sandbox is executed anew, with an empty environment.
[[noreturn]] void run_private_launcher(int socket, const std::string& agent) {
  ::prctl(PR_SET_NAME, "glovebox-launcher");
  ::setsid();
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || ::dup2(null, 0) < 0 || ::dup2(null, 1) < 0 || ::dup2(socket, kLauncherFd) < 0 ||
      ::syscall(SYS_close_range, kLauncherFd + 1u, ~0u, 0) != 0 ||
      ::fcntl(kLauncherFd, F_SETFD, FD_CLOEXEC) != 0) {
    ::_exit(70);
  }
  ::_exit(serve_privately(kLauncherFd, agent));
}

Result<Started> start_private() {
  TRY(SocketPair pair, seqpacket_pair());
  if (serve_privately != nullptr) {
    const std::string agent = program_path("glovebox-agent");
    const pid_t child = ::fork();
    if (child < 0) return fail(Error::from_errno("start a launcher"));
    if (child == 0) run_private_launcher(pair.theirs.get(), agent);
    return Started{std::move(pair.ours), child};
  }
  const std::string program = program_path("glovebox-launcher");
  const std::string fd_text = std::to_string(kLauncherFd);
  char* const argv[] = {const_cast<char*>("glovebox-launcher"), const_cast<char*>("--client-fd"),
                        const_cast<char*>(fd_text.c_str()), nullptr};
  const std::vector<std::string> environment = launcher_environment();
  std::vector<char*> envp;
  for (const std::string& variable : environment)
    envp.push_back(const_cast<char*>(variable.c_str()));
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, pair.theirs.get(), kLauncherFd);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  // A session of its own: the terminal's Ctrl-C is ours to handle, and then its.
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, program.c_str(), &actions, &attributes, argv, envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) return fail(Error::from_errno("start " + program, error));
  return Started{std::move(pair.ours), pid};
}

std::string running_launcher() {
  if (::geteuid() == 0) return "/run/glovebox/launcher.sock";
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  return runtime != nullptr ? std::string(runtime) + "/glovebox/launcher.sock" : "";
}

}  // namespace

void LauncherClient::serve_privately_with(ServePrivately serve) { serve_privately = serve; }

Result<LauncherClient> LauncherClient::connect() {
  const char* chosen = std::getenv("GLOVEBOX_LAUNCHER");
  const std::string choice = chosen != nullptr ? chosen : "";
  if (!choice.empty() && choice != "private") {
    TRY(UniqueFd socket, connect_to(choice));
    return LauncherClient(std::move(socket), 0);
  }
  if (choice.empty()) {
    const std::string running = running_launcher();
    if (!running.empty() && ::access(running.c_str(), W_OK) == 0) {
      if (auto socket = connect_to(running)) return LauncherClient(std::move(*socket), 0);
    }
  }
  TRY(Started started, start_private());
  return LauncherClient(std::move(started.socket), started.pid);
}

LauncherClient::LauncherClient(LauncherClient&& other) noexcept
    : socket_(std::move(other.socket_)), private_pid_(std::exchange(other.private_pid_, 0)) {}

LauncherClient& LauncherClient::operator=(LauncherClient&& other) noexcept {
  close();
  socket_ = std::move(other.socket_);
  private_pid_ = std::exchange(other.private_pid_, 0);
  return *this;
}

LauncherClient::~LauncherClient() { close(); }

void LauncherClient::close() {
  socket_.reset();
  if (const pid_t pid = std::exchange(private_pid_, 0); pid > 0) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

Result<> LauncherClient::send(const wire::LauncherRequest& request, std::span<const int> fds) {
  return send_message(socket_.get(), wire::encode(request), fds);
}

Result<wire::LauncherReply> LauncherClient::receive(std::vector<UniqueFd>* fds) {
  constexpr std::size_t kMostFds = 3;  // of NetworkLent
  auto received =
      receive_message(socket_.get(), wire::kMaxLauncherMessage, fds != nullptr ? kMostFds : 0);
  if (!received || received->bytes.empty()) {
    return fail(Errc::kUnavailable, "the launcher is gone (its own message, if any, is above)");
  }
  if (fds != nullptr) *fds = std::move(received->fds);
  return wire::decode_launcher_reply(received->bytes);
}

std::string program_path(const std::string& name) {
  // For programs that are not installed beside ours, such as tests. Not a way round anything: who
  // sets our environment could as well start that program itself.
  if (const char* chosen = std::getenv("GLOVEBOX_LIBEXEC"); chosen != nullptr && chosen[0] == '/') {
    return std::string(chosen) + "/" + name;
  }
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  std::string directory(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  directory.resize(directory.rfind('/') == std::string::npos ? 0 : directory.rfind('/'));
  const std::string beside = directory + "/" + name;
  if (::access(beside.c_str(), F_OK) == 0) return beside;
  return directory + "/../libexec/glovebox/" + name;
}

}  // namespace glovebox::engine
