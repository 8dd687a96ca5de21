#include "client/bench/own_server.h"

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
#include "client/bench/load.h"
#include "client/bench/process.h"

namespace glovebox::bench {
namespace {

constexpr std::chrono::seconds kServerStartsWithin{60};
constexpr std::chrono::seconds kServerStopsWithin{20};
constexpr std::chrono::milliseconds kLookAtServer{20};

// `glovebox` beside us, or in ../../bin when we are in libexec.
Result<std::string> front_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  std::string directory(self, size > 0 ? static_cast<std::size_t>(size) : 0);
  directory.resize(directory.rfind('/') == std::string::npos ? 0 : directory.rfind('/'));
  for (const char* where : {"/glovebox", "/../../bin/glovebox"}) {
    const std::string path = directory + where;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return fail(Errc::kNotFound,
              "glovebox is not beside " + directory + "; start a server and say --url");
}

std::vector<std::string> own_environment() {
  std::vector<std::string> env;
  for (char** one = environ; *one != nullptr; ++one) env.emplace_back(*one);
  return env;
}

bool has_ended_within(pid_t pid, std::chrono::seconds limit) {
  const auto deadline = Clock::now() + limit;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(kLookAtServer);
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

OwnServer::OwnServer(pid_t pid, std::string directory)
    : pid_(pid), directory_(std::move(directory)) {}

OwnServer::OwnServer(OwnServer&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      directory_(std::exchange(other.directory_, {})),
      place_(std::move(other.place_)) {}

Result<OwnServer> OwnServer::start(const std::vector<std::string>& settings,
                                   const std::vector<std::string>& env) {
  TRY(const std::string front, front_path());
  std::string directory = "/tmp/gbx-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return fail(Error::from_errno("make a directory"));
  // The server becomes nobody and must find its corner of it.
  ::chmod(directory.c_str(), 0755);
  OwnServer server(0, directory);
  const UniqueFd log(
      ::open((directory + "/serve.log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_APPEND, 0600));
  Command command{{front, "serve", "--listen", "127.0.0.1:0", "--data-dir", directory},
                  own_environment()};
  command.env.push_back("GLOVEBOX_LAYERS_DIR=" + directory + "/layers");
  for (const std::string& word : env) {
    const std::string name = word.substr(0, word.find('=') + 1);
    std::erase_if(command.env, [&](const std::string& old) { return old.starts_with(name); });
    command.env.push_back(word);
  }
  for (const std::string& setting : settings) {
    command.argv.insert(command.argv.end(), {"--set", setting});
  }
  TRY(server.pid_, bench::start(command, log.get()));
  TRY_OK(server.wait_until_ready());
  return server;
}

Result<> OwnServer::wait_until_ready() {
  const auto deadline = Clock::now() + kServerStartsWithin;
  client::PlaceWords words;
  words.data_dir = directory_;
  while (Clock::now() < deadline && !interrupted) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = 0;
      return fail(Errc::kUnavailable,
                  "the server did not start: " + last_line_of(directory_ + "/serve.log"));
    }
    const auto place = client::find_place(words, {.url = {}, .key = {}, .data_dir = directory_});
    if (place && !place->key.empty() && !Caller(*place).get("/health/ready").empty()) {
      place_ = *place;
      return {};
    }
    std::this_thread::sleep_for(kLookAtServer);
  }
  return fail(Errc::kTimeout,
              "the server is not ready: " + last_line_of(directory_ + "/serve.log"));
}

pid_t OwnServer::pid_of(const char* process) const {
  std::ifstream file(directory_ + "/serve.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  boost::system::error_code error;
  const boost::json::value info = boost::json::parse(text, error);
  const boost::json::object* object = error ? nullptr : info.if_object();
  const boost::json::value* pid = object != nullptr ? object->if_contains(process) : nullptr;
  return pid != nullptr && pid->is_int64() ? static_cast<pid_t>(pid->get_int64()) : 0;
}

OwnServer::~OwnServer() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    bool ended = has_ended_within(pid_, kServerStopsWithin);
    if (!ended) {
      ::kill(pid_, SIGTERM);  // the second one ends it at once
      ended = has_ended_within(pid_, kServerStopsWithin);
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
