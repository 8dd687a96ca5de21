#include "bench/bench_server.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "bench/load.h"
#include "bench/process.h"
#include "client/connection/private_server.h"

namespace glovebox::bench {
namespace {

constexpr std::chrono::seconds kServerStartTimeout{60};
constexpr std::chrono::seconds kServerStopTimeout{20};
constexpr std::chrono::milliseconds kReadyPollInterval{20};

std::vector<std::string> own_environment() {
  std::vector<std::string> env;
  for (char** one = environ; *one != nullptr; ++one) env.emplace_back(*one);
  return env;
}

bool has_ended_within(pid_t pid, std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kReadyPollInterval);
  }
  return true;
}

std::string last_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::string last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace

BenchServer::BenchServer(pid_t pid, std::string directory)
    : pid_(pid), directory_(std::move(directory)) {}

BenchServer::BenchServer(BenchServer&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      directory_(std::exchange(other.directory_, {})),
      location_(std::move(other.location_)) {}

Result<BenchServer> BenchServer::start(const std::vector<std::string>& settings,
                                       const std::vector<std::string>& env) {
  TRY(const std::string glovebox, client::glovebox_path());
  std::string directory = "/tmp/gbx-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return fail(Error::from_errno("create a directory"));
  // The server runs as another user and must be able to enter it.
  ::chmod(directory.c_str(), 0755);
  BenchServer server(0, directory);
  const UniqueFd log(
      ::open((directory + "/serve.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600));
  Command command{{glovebox, "serve", "--listen", "127.0.0.1:0", "--data-dir", directory},
                  own_environment()};
  command.env.push_back("GLOVEBOX_LAYERS_DIR=" + directory + "/layers");
  for (const std::string& variable : env) {
    const std::string name = variable.substr(0, variable.find('=') + 1);
    std::erase_if(command.env, [&](const std::string& old) { return old.starts_with(name); });
    command.env.push_back(variable);
  }
  for (const std::string& setting : settings) {
    command.argv.insert(command.argv.end(), {"--set", setting});
  }
  TRY(server.pid_, bench::start(command, log.get()));
  TRY_OK(server.wait_until_ready());
  return server;
}

Result<> BenchServer::wait_until_ready() {
  const auto deadline = Clock::now() + kServerStartTimeout;
  client::ServerLocationOptions options;
  options.data_dir = directory_;
  while (Clock::now() < deadline && !interrupted) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      return fail(Errc::kUnavailable,
                  "the server did not start: " + last_line_of(directory_ + "/serve.log"));
    }
    const auto location =
        client::find_server_location(options, {.url = {}, .key = {}, .data_dir = directory_});
    if (location && !location->key.empty() && !Caller(*location).get("/health/ready").empty()) {
      location_ = *location;
      return {};
    }
    std::this_thread::sleep_for(kReadyPollInterval);
  }
  return fail(Errc::kTimeout,
              "the server is not ready: " + last_line_of(directory_ + "/serve.log"));
}

pid_t BenchServer::pid_of(const char* process) const {
  std::ifstream file(directory_ + "/serve.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code error;
  const boost::json::value info = boost::json::parse(text, error);
  const boost::json::object* object = error ? nullptr : info.if_object();
  const boost::json::value* pid = object != nullptr ? object->if_contains(process) : nullptr;
  return pid != nullptr && pid->is_int64() ? static_cast<pid_t>(pid->get_int64()) : 0;
}

BenchServer::~BenchServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    bool ended = has_ended_within(pid_, kServerStopTimeout);
    if (!ended) {
      ::kill(pid_, SIGTERM);  // the second signal ends it immediately
      ended = has_ended_within(pid_, kServerStopTimeout);
    }
    if (!ended) {
      std::fprintf(stderr, "glovebox: the server (process %d, in %s) does not stop\n",
                   static_cast<int>(pid_), directory_.c_str());
      return;
    }
  }
  std::error_code ignored;
  if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
}

}  // namespace glovebox::bench
