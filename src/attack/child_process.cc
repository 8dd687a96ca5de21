#include "attack/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/unique_fd.h"

extern char** environ;

namespace glovebox::attack {
namespace {

using Clock = std::chrono::steady_clock;

// Beyond this the rest is read and thrown away: a flood must not become ours.
constexpr size_t kMaxBytes = 16 << 20;

struct Pipe {
  UniqueFd read_end;
  UniqueFd write_end;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// posix_spawn, because other threads may be running: its child makes only safe calls.
class SpawnPlan {
 public:
  SpawnPlan() {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void set_up(const Inheritance& inherits, int stdin_fd, int stdout_fd, int stderr_fd,
              const std::string& terminal) {
    short flags = POSIX_SPAWN_SETSIGDEF;
    sigset_t all;
    sigfillset(&all);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    if (!terminal.empty()) {
      // A session leader that opens a terminal gets it as its controlling one, and keeps it when
      // the descriptor is closed.
      flags |= POSIX_SPAWN_SETSID;
      posix_spawn_file_actions_addopen(&actions_, kSpare, terminal.c_str(), O_RDWR, 0);
      posix_spawn_file_actions_addclose(&actions_, kSpare);
    }
    posix_spawnattr_setflags(&attributes_, flags);
    if (stdin_fd >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, stdin_fd, 0);
    } else {
      const char* path = inherits.stdin_path.empty() ? "/dev/null" : inherits.stdin_path.c_str();
      posix_spawn_file_actions_addopen(&actions_, 0, path, O_RDWR, 0);
    }
    posix_spawn_file_actions_adddup2(&actions_, stdout_fd, 1);
    posix_spawn_file_actions_adddup2(&actions_, stderr_fd, 2);
    if (!inherits.leaked_dir.empty()) {
      posix_spawn_file_actions_addopen(&actions_, kSpare, inherits.leaked_dir.c_str(),
                                       O_RDONLY | O_DIRECTORY, 0);
    }
    if (!inherits.working_dir.empty()) {
      posix_spawn_file_actions_addchdir_np(&actions_, inherits.working_dir.c_str());
    }
  }

  Result<pid_t> spawn(const Command& command) const {
    std::vector<char*> argv;
    for (const auto& words : {&command.inherits.through, &command.argv}) {
      for (const std::string& word : *words) argv.push_back(const_cast<char*>(word.c_str()));
    }
    argv.push_back(nullptr);
    std::vector<char*> environment;
    for (const std::string& entry : command.inherits.environment) {
      environment.push_back(const_cast<char*>(entry.c_str()));
    }
    for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
    environment.push_back(nullptr);
    pid_t pid = -1;
    const int err =
        ::posix_spawn(&pid, argv[0], &actions_, &attributes_, argv.data(), environment.data());
    if (err != 0) return fail(Error::from_errno(std::string("start ") + argv[0], err));
    return pid;
  }

 private:
  static constexpr int kSpare = 200;  // above all that this process keeps open by itself
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

Result<UniqueFd> make_terminal(std::string& path) {
  UniqueFd leader(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  char name[128];
  if (!leader || ::grantpt(leader.get()) != 0 || ::unlockpt(leader.get()) != 0 ||
      ::ptsname_r(leader.get(), name, sizeof name) != 0) {
    return fail(Error::from_errno("make a terminal"));
  }
  path = name;
  return leader;
}

bool is_ready_line(const std::string& out) {
  return out.compare(0, 6, "ready\n") == 0 || out.find("\nready\n") != std::string::npos;
}

// Reads both pipes until they end; false if the deadline came first.
bool collect(const Command& command, Pipe& out, Pipe& err, UniqueFd& input,
             CommandResult& finished) {
  const auto end = Clock::now() + command.limit;
  bool has_announced = !command.when_ready;
  pollfd pollers[2] = {{out.read_end.get(), POLLIN, 0}, {err.read_end.get(), POLLIN, 0}};
  while (pollers[0].fd >= 0 || pollers[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return false;
    if (::poll(pollers, 2, static_cast<int>(left.count())) < 0 && errno != EINTR) return false;
    for (int which = 0; which < 2; ++which) {
      if ((pollers[which].revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      char buffer[65536];
      const ssize_t count = ::read(pollers[which].fd, buffer, sizeof buffer);
      if (count <= 0) {
        pollers[which].fd = -1;
        continue;
      }
      std::string& text = which == 0 ? finished.out : finished.err;
      if (text.size() < kMaxBytes) text.append(buffer, static_cast<size_t>(count));
    }
    if (!has_announced && is_ready_line(finished.out)) {
      has_announced = true;
      command.when_ready();
      input.reset();
    }
  }
  return true;
}

// The pipes have ended, or the time is up; a program may close them and stay.
int reap(pid_t pid, Clock::time_point end, bool& hung) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (Clock::now() >= end && !hung) {
      hung = true;
      ::kill(pid, SIGKILL);
    }
    ::poll(nullptr, 0, 1);
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<CommandResult> run_command(const Command& command) {
  TRY(Pipe out, make_pipe());
  TRY(Pipe err, make_pipe());
  Pipe input;
  if (command.when_ready) {
    TRY(input, make_pipe());
  }
  std::string terminal_path;
  UniqueFd terminal;
  if (command.inherits.controlling_tty) {
    TRY(terminal, make_terminal(terminal_path));
  }
  SpawnPlan plan;
  plan.set_up(command.inherits, input.read_end.get(), out.write_end.get(), err.write_end.get(),
              terminal_path);
  const auto end = Clock::now() + command.limit;
  TRY(const pid_t pid, plan.spawn(command));
  out.write_end.reset();
  err.write_end.reset();
  input.read_end.reset();
  CommandResult finished;
  if (!collect(command, out, err, input.write_end, finished)) {
    finished.hung = true;
    ::kill(pid, SIGKILL);
  }
  input.write_end.reset();
  finished.exit_code = reap(pid, end, finished.hung);
  return finished;
}

std::vector<int> pids_with_cmdline(const std::string& text) {
  std::vector<int> found;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", ignored)) {
    const std::string name = entry.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    std::ifstream file(entry.path() / "cmdline", std::ios::binary);
    std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    std::replace(line.begin(), line.end(), '\0', ' ');
    const int pid = std::atoi(name.c_str());
    if (pid != ::getpid() && line.find(text) != std::string::npos) found.push_back(pid);
  }
  return found;
}

}  // namespace glovebox::attack
