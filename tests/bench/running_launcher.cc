#include "running_launcher.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <utility>

#include "base/unique_fd.h"
#include "bench/process.h"

namespace glovebox::bench::cold {
namespace {

constexpr auto kStartsWithin = std::chrono::seconds(20);

bool accepts(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  return socket &&
         ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

// The socket's file appears when it is bound, which is a moment before it listens: hence both the
// event and, after it, short waits up to the deadline.
bool wait_until_it_accepts(int events, const std::string& socket, Clock::time_point deadline) {
  while (!accepts(socket)) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd made{events, POLLIN, 0};
    if (::poll(&made, 1, ::access(socket.c_str(), F_OK) == 0 ? 1 : static_cast<int>(left.count())) >
        0) {
      char ignored[1024];
      (void)!::read(events, ignored, sizeof ignored);
    }
  }
  return true;
}

}  // namespace

RunningLauncher::RunningLauncher(pid_t pid, std::string directory, std::string socket)
    : pid_(pid), directory_(std::move(directory)), socket_(std::move(socket)) {}

RunningLauncher::RunningLauncher(RunningLauncher&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      directory_(std::move(other.directory_)),
      socket_(std::move(other.socket_)) {}

Result<RunningLauncher> RunningLauncher::start(const std::string& bin_dir) {
  std::string directory = "/tmp/gbx-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return fail(Error::from_errno("make a directory"));
  const UniqueFd events(::inotify_init1(IN_CLOEXEC));
  ::inotify_add_watch(events.get(), directory.c_str(), IN_CREATE);
  const std::string socket = directory + "/launcher.sock";
  const Command command{{bin_dir + "/glovebox-launcher", "--listen", socket}, {"HOME=/root"}};
  const auto pid = bench::start(command, STDERR_FILENO);
  if (!pid) {
    ::rmdir(directory.c_str());
    return fail(pid.error());
  }
  RunningLauncher launcher(*pid, directory, socket);
  if (!wait_until_it_accepts(events.get(), socket, Clock::now() + kStartsWithin)) {
    return fail(Errc::kTimeout, "the launcher does not listen");
  }
  return launcher;
}

RunningLauncher::~RunningLauncher() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  wait_for(pid_);
  ::unlink(socket_.c_str());
  ::rmdir(directory_.c_str());
}

Result<std::uint64_t> RunningLauncher::resident_kib() const {
  std::ifstream status("/proc/" + std::to_string(pid_) + "/status");
  std::string word;
  while (status >> word) {
    if (word != "VmRSS:") continue;
    std::uint64_t kib = 0;
    if (status >> kib) return kib;
  }
  return fail(Errc::kNotFound, "the launcher has no VmRSS: it is gone");
}

}  // namespace glovebox::bench::cold
