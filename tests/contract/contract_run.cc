#include "contract_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "base/id.h"
#include "base/unique_fd.h"

namespace glovebox::contract {
namespace {

bool any_process_has(const std::string& word) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (name == std::to_string(::getpid())) continue;
    if (read_file(entry.path() / "cmdline").find(word) != std::string::npos) return true;
  }
  return false;
}

// Writes all of it and closes, on a thread of its own, because a pipe holds only 64K.
std::thread feed_into(UniqueFd to, const std::string& input) {
  return std::thread([fd = std::move(to), &input]() {
    std::string_view left = input;
    while (!left.empty()) {
      const ssize_t put = ::write(fd.get(), left.data(), left.size());
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return;  // the program does not read the rest
      left.remove_prefix(static_cast<std::size_t>(put));
    }
  });
}

}  // namespace

void use_built_programs() {
  const char* chosen = std::getenv("GLOVEBOX_BIN_DIR");
  ::setenv("GLOVEBOX_LIBEXEC", chosen != nullptr ? chosen : GBX_BIN_DIR, 1);
  // A launcher that happens to run on this host is not the one under test.
  ::setenv("GLOVEBOX_LAUNCHER", "private", 0);
  ::signal(SIGPIPE, SIG_IGN);
}

TempDir::TempDir(uid_t owner) {
  char name[] = "/tmp/gbx-contract-XXXXXX";
  if (::mkdtemp(name) == nullptr) std::abort();
  path_ = name;
  if (::chmod(name, 0755) != 0 || (owner != 0 && ::chown(name, owner, owner) != 0)) std::abort();
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::string& path, std::string_view content, unsigned mode) {
  std::ofstream(path, std::ios::binary) << content;
  if (::chmod(path.c_str(), mode) != 0) std::abort();
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

std::string unique_word() {
  return "1000.0" + std::to_string(::getpid()) + "0" + [] {
    std::string digits = random_label(12);
    for (char& c : digits) c = static_cast<char>('0' + c % 10);
    return digits;
  }();
}

bool gone_from_host(const std::string& word) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (any_process_has(word)) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

std::string Collected::story() const {
  std::string text = result ? "exit " + std::to_string(result->outcome.exit_code) + " signal " +
                                  std::to_string(result->outcome.signal)
                            : "error: " + result.error().message();
  return text + " after " + std::to_string(took.count()) + " ms; stdout: " + out.substr(0, 500) +
         "; stderr: " + err.substr(0, 500);
}

engine::RunRequest program(std::vector<std::string> argv) {
  engine::RunRequest request;
  request.exec.argv = std::move(argv);
  request.exec.env = {"PATH=/usr/bin:/bin", "LANG=C"};
  return request;
}

engine::RunRequest shell(const std::string& script) { return program({"/bin/sh", "-c", script}); }

Collected run(engine::Engine& engine, const engine::RunRequest& request, const Feed& feed) {
  Collected collected;
  engine::RunHooks hooks;
  hooks.stop_fd = feed.stop_fd;
  hooks.on_output = [&](engine::Stream stream, std::string_view bytes) {
    (stream == engine::Stream::kOut ? collected.out : collected.err).append(bytes);
    return !feed.on_output || feed.on_output(stream, bytes);
  };
  UniqueFd read_end;
  std::thread feeder;
  if (feed.input) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) std::abort();
    read_end.reset(ends[0]);
    hooks.stdin_fd = ends[0];
    feeder = feed_into(UniqueFd(ends[1]), *feed.input);
  }
  const auto began = std::chrono::steady_clock::now();
  collected.result = engine::run_once(engine, request, hooks);
  if (collected.result && collected.result->out_failure) {
    // A file that could not be copied out: the outcome stands, and so does the complaint.
    Error complaint = *collected.result->out_failure;
    collected.result = fail(std::move(complaint));
  }
  collected.took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  read_end.reset();
  if (feeder.joinable()) feeder.join();
  return collected;
}

}  // namespace glovebox::contract
