#include "bench/process.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace glovebox::bench {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& text : strings) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<pid_t> start(const Command& command, int err, int out) {
  const std::vector<char*> argv = pointers_to(command.argv);
  const std::vector<char*> envp = pointers_to(command.env);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out >= 0 ? out : 0, 1);
  ::posix_spawn_file_actions_adddup2(&actions, err >= 0 ? err : 0, 2);
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(Error::from_errno("start " + command.argv[0], error));
  return pid;
}

int wait_for(pid_t pid) {
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

Result<Timed> run_timed(const Command& command) {
  const Clock::time_point began = Clock::now();
  TRY(const pid_t pid, start(command));
  Timed timed;
  timed.status = wait_for(pid);
  timed.took = Clock::now() - began;
  return timed;
}

Trial try_once(const Command& command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {false, "pipe"};
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const auto pid = start(command, write_end.get());
  write_end.reset();
  if (!pid) return {false, pid.error().message()};
  Trial trial;
  char part[1024];
  ssize_t got = 0;
  while ((got = ::read(read_end.get(), part, sizeof part)) > 0) {
    if (trial.message.size() < 4096) trial.message.append(part, static_cast<std::size_t>(got));
  }
  const int status = wait_for(*pid);
  trial.worked = status == 0;
  if (!trial.worked && trial.message.empty()) trial.message = "status " + std::to_string(status);
  return trial;
}

Result<std::string> output_of(const Command& command) {
  constexpr std::size_t kMost = 1u << 20;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  TRY(const pid_t pid, start(command, STDERR_FILENO, write_end.get()));
  write_end.reset();
  std::string output;
  char part[4096];
  ssize_t got = 0;
  while ((got = ::read(read_end.get(), part, sizeof part)) > 0 || (got < 0 && errno == EINTR)) {
    if (got > 0 && output.size() < kMost) output.append(part, static_cast<std::size_t>(got));
  }
  if (const int status = wait_for(pid); status != 0) {
    return fail(Errc::kUnavailable,
                command.argv[0] + " ended with status " + std::to_string(status));
  }
  return output;
}

Result<ProcessUsage> usage_of(pid_t pid) {
  const std::string of = "/proc/" + std::to_string(pid);
  ProcessUsage usage;
  std::error_code error;
  for (std::filesystem::directory_iterator one(of + "/fd", error), end; !error && one != end;
       one.increment(error)) {
    ++usage.descriptors;
  }
  if (error) return fail(Error::from_errno("read " + of + "/fd", error.value()));
  std::ifstream status(of + "/status");
  std::string word;
  while (status >> word) {
    if (word == "VmRSS:" && status >> usage.resident_kib) return usage;
  }
  return fail(Errc::kNotFound, of + "/status has no VmRSS");
}

Result<Timed> empty_namespaces_timed() {
  clone_args args{};
  args.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
               CLONE_NEWUTS | CLONE_NEWCGROUP;
  args.exit_signal = SIGCHLD;
  const Clock::time_point began = Clock::now();
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) ::_exit(0);
  if (pid < 0) return fail(Error::from_errno("clone3 with new namespaces"));
  Timed timed;
  timed.status = wait_for(static_cast<pid_t>(pid));
  timed.took = Clock::now() - began;
  return timed;
}

}  // namespace glovebox::bench
