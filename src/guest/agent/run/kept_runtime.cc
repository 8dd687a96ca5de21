#include "guest/agent/run/kept_runtime.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "base/unique_fd.h"
#include "guest/agent/run/guest_files.h"

namespace glovebox::agent {
namespace {

Result<std::array<rlimit, RLIM_NLIMITS>> limits_of(pid_t pid) {
  std::array<rlimit, RLIM_NLIMITS> limits{};
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (::prlimit(pid, static_cast<__rlimit_resource>(i), nullptr, &limits[i]) != 0) {
      return fail(Error::from_errno("read an rlimit"));
    }
  }
  return limits;
}

// The number of the process or thread that was created last in this pid namespace; -1: unknown.
pid_t last_created(int last_pid) {
  char text[32] = {};
  if (::pread(last_pid, text, sizeof text - 1, 0) <= 0) return -1;
  return static_cast<pid_t>(std::strtol(text, nullptr, 10));
}

bool set_last_created(int last_pid, pid_t pid) {
  const std::string text = std::to_string(pid);
  return ::pwrite(last_pid, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
}

bool has_one_thread(pid_t pid) {
  struct stat facts {};
  // The kernel counts a directory for each thread, and the two that every directory has.
  return ::stat(("/proc/" + std::to_string(pid) + "/task").c_str(), &facts) == 0 &&
         facts.st_nlink == 3;
}

bool is_alone(pid_t pid) {
  DIR* proc = ::opendir("/proc");
  if (proc == nullptr) return false;
  bool alone = true;
  while (const dirent* entry = ::readdir(proc)) {
    const int other = std::atoi(entry->d_name);
    if (other > 1 && other != pid) alone = false;
  }
  ::closedir(proc);
  return alone;
}

// A call can take its own user the rights to them. The next call would find a broken place.
bool can_use_scratch(bool change_user) {
  const AsGuestUser as_user(change_user);
  for (const char* place : {"/home/user", "/tmp"}) {
    const UniqueFd fd(::open(place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!fd) return false;
  }
  return true;
}

}  // namespace

Result<KeptRuntime> KeptRuntime::of(pid_t pid, int last_pid, bool change_user) {
  KeptRuntime kept(pid, last_pid, change_user);
  TRY(kept.limits_, limits_of(pid));
  return kept;
}

std::string KeptRuntime::left() const {
  const auto limits = limits_of(pid_);
  if (!limits) return "its process has ended";
  for (std::size_t i = 0; i < limits->size(); ++i) {
    const rlimit& now = (*limits)[i];
    if (now.rlim_cur != limits_[i].rlim_cur || now.rlim_max != limits_[i].rlim_max) {
      return "a changed limit";
    }
  }
  if (!can_use_scratch(change_user_)) return "a directory that cannot be read";
  // Threads have numbers, too. While the runtime lives no other process gets its number, so there
  // is no way back to it: nothing was created.
  if (last_created(last_pid_) == pid_) return {};
  // In this order: what was created before is found, what is created meanwhile changes the number.
  if (!set_last_created(last_pid_, pid_)) return "an unknown number of processes";
  if (!is_alone(pid_)) return "a process";
  if (!has_one_thread(pid_)) return "a thread";
  if (last_created(last_pid_) != pid_) return "a process that comes and goes";
  return {};
}

}  // namespace glovebox::agent
