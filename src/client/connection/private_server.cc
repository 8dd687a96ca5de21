#include "client/connection/private_server.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <utility>

#include "base/write_all.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

extern char** environ;

namespace glovebox::client {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kStartTimeout{60};
constexpr std::chrono::seconds kStopTimeout{20};
constexpr std::size_t kMaxLogLine = 4096;

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};
Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return fail(Error::from_errno("make a pipe"));
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// Standard streams, and default signal handling: the child must not inherit this process's mask.
struct SpawnAttributes {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;

  SpawnAttributes(int in, int out, int err) {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, in, 0);
    ::posix_spawn_file_actions_adddup2(&actions, out, 1);
    ::posix_spawn_file_actions_adddup2(&actions, err, 2);
    ::posix_spawnattr_init(&attributes);
    sigset_t none;
    ::sigemptyset(&none);
    sigset_t defaults;
    ::sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&defaults, signal);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    // Its own process group: Ctrl-C at the terminal is for this process only.
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnAttributes() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
};

}  // namespace

Result<std::string> glovebox_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  std::string directory(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  directory.resize(directory.rfind('/') == std::string::npos ? 0 : directory.rfind('/'));
  for (const char* where : {"/glovebox", "/../../bin/glovebox"}) {
    const std::string path = directory + where;
    if (::access(path.c_str(), X_OK) != 0) continue;
    char resolved[PATH_MAX];
    return std::string(::realpath(path.c_str(), resolved) != nullptr ? resolved : path.c_str());
  }
  return fail(Errc::kNotFound, "cannot find the program glovebox near " + directory);
}

Result<std::unique_ptr<PrivateServer>> PrivateServer::start(
    const std::vector<std::string>& settings, Log log) {
  TRY(const std::string front, glovebox_path());
  std::unique_ptr<PrivateServer> server(new PrivateServer());
  server->log_ = log;
  TRY_OK(server->spawn(front, settings));
  TRY_OK(server->read_location());
  return server;
}

Result<> PrivateServer::spawn(const std::string& front, const std::vector<std::string>& settings) {
  TRY(Pipe in, make_pipe());
  TRY(Pipe out, make_pipe());
  TRY(Pipe err, make_pipe());
  std::vector<std::string> command = {front, "serve", "--private"};
  for (const std::string& setting : settings) command.insert(command.end(), {"--set", setting});
  std::vector<char*> argv;
  for (std::string& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const SpawnAttributes spawning(in.read.get(), out.write.get(), err.write.get());
  const int failed = ::posix_spawn(&pid_, front.c_str(), &spawning.actions, &spawning.attributes,
                                   argv.data(), environ);
  if (failed != 0) {
    pid_ = 0;
    return fail(Error::from_errno("start " + front, failed));
  }
  input_ = std::move(in.write);
  output_ = std::move(out.read);
  errors_ = std::move(err.read);
  forwarder_ = std::thread([this] { forward_errors(); });
  return {};
}

void PrivateServer::forward_errors() {
  char buffer[4096];
  std::string line;
  while (true) {
    const ssize_t got = ::read(errors_.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    const std::string_view bytes(buffer, static_cast<std::size_t>(got));
    if (log_ == Log::kShown) (void)write_all(2, bytes);
    for (const char c : bytes) {
      if (c != '\n') {
        if (line.size() < kMaxLogLine) line += c;
        continue;
      }
      const std::lock_guard lock(mutex_);
      if (!line.empty()) last_error_ = line;
      line.clear();
    }
  }
}

std::string PrivateServer::last_error() {
  const std::lock_guard lock(mutex_);
  return last_error_.empty() ? "no message" : printable(last_error_);
}

Result<> PrivateServer::read_location() {
  const auto deadline = Clock::now() + kStartTimeout;
  std::string line;
  while (line.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd wait{.fd = output_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::max<long>(left.count(), 0)));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0)
      return fail(Errc::kTimeout, "the private server was not ready within 60 seconds");
    char buffer[1024];
    const ssize_t got = ::read(output_.get(), buffer, sizeof buffer);
    if (got <= 0 || line.size() > kMaxLogLine) {
      // Reap it first, so that its log is complete.
      input_.reset();
      if (::waitpid(pid_, nullptr, 0) == pid_) pid_ = 0;
      forwarder_.join();
      return fail(Errc::kUnavailable, "cannot start a private server: " + last_error());
    }
    line.append(buffer, static_cast<std::size_t>(got));
  }
  boost::system::error_code error;
  const json::value printed = json::parse(line.substr(0, line.find('\n')), error);
  if (error || !printed.is_object()) {
    return fail(Errc::kProtocol, "the private server printed no address");
  }
  location_.url = string_field(printed.get_object(), "url");
  location_.key = string_field(printed.get_object(), "api_key");
  location_.origin = location_.key_origin = "a private server";
  if (location_.url.empty() || location_.key.empty()) {
    return fail(Errc::kProtocol, "the private server printed no address");
  }
  return {};
}

bool PrivateServer::has_ended() {
  if (pid_ == 0) return true;
  if (::waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  pid_ = 0;
  return true;
}

PrivateServer::~PrivateServer() {
  input_.reset();
  const auto deadline = Clock::now() + kStopTimeout;
  while (!has_ended()) {
    if (Clock::now() > deadline) {
      ::kill(pid_, SIGKILL);
      (void)::waitpid(pid_, nullptr, 0);
      pid_ = 0;
      break;
    }
    // Wakes up when it closes its standard output.
    pollfd wait{.fd = output_.get(), .events = POLLIN, .revents = 0};
    const int ready = ::poll(&wait, 1, 20);
    char buffer[256];
    if (ready > 0 && ::read(output_.get(), buffer, sizeof buffer) <= 0) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  if (forwarder_.joinable()) forwarder_.join();
}

Result<std::unique_ptr<PrivateServer>> start_server_if_none(ServerLocationOptions& server) {
  if (!server.url.empty() || !server.key.empty() || !server.data_dir.empty()) return nullptr;
  const auto known = find_server_location(server, ServerLocationEnvironment::here());
  if (known || known.error().code() != Errc::kUnavailable) return nullptr;
  TRY(std::unique_ptr<PrivateServer> started,
      PrivateServer::start({}, PrivateServer::Log::kHidden));
  server.url = started->location().url;
  server.key = started->location().key;
  return started;
}

}  // namespace glovebox::client
