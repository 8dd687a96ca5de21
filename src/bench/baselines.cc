#include "bench/baselines.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "bench/load.h"

namespace glovebox::bench {
namespace {

// Long enough that the kernel's cleanup after one call does not slow down the next: like Glovebox,
// bwrap returns before its namespaces are gone.
constexpr int kSettleMs = 5;
constexpr const char* kPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

std::string find_program(const std::string& name) {
  for (const char* directory : {"/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/"}) {
    const std::string path = directory + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return "";
}

constexpr const char* kContainer = "glovebox-bench";

}  // namespace

Command bwrap(const std::vector<std::string>& program, const std::string& etc) {
  Command command;
  command.argv = {"/usr/bin/bwrap", "--unshare-all", "--die-with-parent",
                  "--ro-bind",      "/usr",          "/usr"};
  for (const char* name : {"bin", "lib", "lib64", "sbin"}) {
    command.argv.insert(command.argv.end(),
                        {"--symlink", std::string("usr/") + name, std::string("/") + name});
  }
  command.argv.insert(command.argv.end(),
                      {"--ro-bind", etc, "/etc", "--proc", "/proc", "--dev", "/dev", "--tmpfs",
                       "/tmp", "--tmpfs", "/home/user", "--chdir", "/home/user"});
  command.argv.insert(command.argv.end(), program.begin(), program.end());
  // The environment of the template, so that the imports do the same work.
  command.env = {kPath,
                 "HOME=/home/user",
                 "LANG=C.UTF-8",
                 "MPLBACKEND=Agg",
                 "MPLCONFIGDIR=/tmp/matplotlib",
                 "OPENBLAS_NUM_THREADS=1"};
  return command;
}

std::string unavailable_reason(const Command& command) {
  if (::access(command.argv[0].c_str(), X_OK) != 0) return command.argv[0] + " is not installed";
  const Trial trial = try_once(command);
  return trial.worked ? "" : trial.message;
}

Docker docker_python(const std::vector<std::string>& program) {
  Docker docker;
  const std::string path = find_program("docker");
  if (path.empty()) {
    docker.skipped = "docker is not installed";
    return docker;
  }
  // With a timeout, because the docker daemon may hang.
  const std::vector<std::string> bounded = {"/usr/bin/timeout", "-k", "1", "20", path};
  const auto docker_command = [&](std::vector<std::string> args) {
    Command command{bounded, {kPath, "HOME=/root"}};
    command.argv.insert(command.argv.end(), args.begin(), args.end());
    return unavailable_reason(command);
  };
  if (docker.skipped = docker_command({"version"}); !docker.skipped.empty()) return docker;
  for (const char* image :
       {"python:3-slim", "python:3.11-slim", "python:3.12-slim", "python:3", "python:latest"}) {
    if (!docker_command({"image", "inspect", image}).empty()) continue;
    docker.command.argv = {path, "run", "--rm", "--network", "none", "--pull", "never", image};
    docker.command.argv.insert(docker.command.argv.end(), program.begin(), program.end());
    docker.command.env = {kPath, "HOME=/root"};
    docker.skipped = unavailable_reason(docker.command);
    return docker;
  }
  docker.skipped = "no Python image is present (docker pull python:3-slim)";
  return docker;
}

Docker docker_container() {
  Docker docker = docker_python({"/bin/true"});
  if (!docker.skipped.empty()) return docker;
  std::vector<std::string>& argv = docker.command.argv;
  argv.back() = "sleep";
  argv.push_back("600");
  argv.insert(argv.begin() + 2, {"--detach", "--name", kContainer});
  return docker;
}

Round DockerContainer::exec_in_turn(unsigned calls) {
  if (!started_) {
    const auto begun = run_timed(start_);
    started_ = begun && begun->status == 0;
  }
  const Command exec{{start_.argv[0], "exec", kContainer, "/bin/true"}, start_.env};
  return run_in_turn([&] { return run_timed(exec); }, calls);
}

DockerContainer::~DockerContainer() {
  if (started_) (void)run_timed({{start_.argv[0], "rm", "-f", kContainer}, start_.env});
}

Round run_in_turn(const std::function<Result<Timed>()>& run, unsigned calls) {
  Round round;
  for (unsigned i = 0; i < calls && !interrupted; ++i) {
    ::poll(nullptr, 0, kSettleMs);
    const auto timed = run();
    if (timed && timed->status == 0) {
      round.ms.push_back(timed->took.count());
    } else {
      ++round.errors;
    }
  }
  round.runs = round.ms.size();
  return round;
}

Round run_side_by_side(const Command& command, unsigned loops, std::chrono::milliseconds time) {
  std::vector<Round> parts(loops);
  std::vector<std::thread> threads;
  const Clock::time_point began = Clock::now();
  for (Round& part : parts) {
    threads.emplace_back([&] {
      while (Clock::now() - began < time && !interrupted) {
        const auto timed = run_timed(command);
        if (timed && timed->status == 0) {
          part.ms.push_back(timed->took.count());
        } else {
          ++part.errors;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  Round all;
  all.seconds = std::chrono::duration<double>(Clock::now() - began).count();
  for (const Round& part : parts) {
    all.ms.insert(all.ms.end(), part.ms.begin(), part.ms.end());
    all.errors += part.errors;
  }
  all.runs = all.ms.size();
  return all;
}

Result<Timed> empty_process_timed() {
  const Clock::time_point began = Clock::now();
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(0);
  if (pid < 0) return fail(Error::from_errno("fork"));
  Timed timed;
  timed.status = wait_for(pid);
  timed.took = Clock::now() - began;
  return timed;
}

}  // namespace glovebox::bench
