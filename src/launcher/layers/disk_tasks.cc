#include "launcher/layers/disk_tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "sys/clone.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

constexpr int kNiceness = 5;
constexpr int kFinishTimeoutMs = 5000;
constexpr int kTaskExitTimeoutMs = 2000;

bool lock_soon(int fd) {
  constexpr int kTries = 100;
  constexpr int kPauseMs = 10;
  for (int tries = 0; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK || tries >= kTries) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
  return true;
}

}  // namespace

Result<DiskTask> DiskTask::start(const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  TRY(sys::Cloned child, sys::clone_into(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // Else a dropped client's socket would stay open here, and locks would stay held.
    if (::syscall(SYS_close_range, 3u, ~0u, 0u) != 0) ::_exit(1);
    (void)::setpriority(PRIO_PROCESS, 0, kNiceness);
    ::_exit(work());
  }
  return DiskTask(child.pid, std::move(child.pidfd));
}

DiskTask::DiskTask(DiskTask&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)), code_(other.code_) {}

DiskTask& DiskTask::operator=(DiskTask&& other) noexcept {
  kill();
  pid_ = std::exchange(other.pid_, 0);
  pidfd_ = std::move(other.pidfd_);
  code_ = other.code_;
  return *this;
}

DiskTask::~DiskTask() { kill(); }

void DiskTask::kill() {
  if (pid_ <= 0 || is_finished(0)) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  // A process in uninterruptible sleep dies when the disk answers; init reaps it then.
  if (!is_finished(kTaskExitTimeoutMs)) log::warn("a killed disk task has not exited in time");
  pid_ = 0;
}

bool DiskTask::is_finished(int wait_ms) {
  if (pid_ <= 0) return true;
  pollfd dead{pidfd_.get(), POLLIN, 0};
  if (::poll(&dead, 1, wait_ms) != 1) return false;
  int status = 0;
  const bool reaped = ::waitpid(pid_, &status, WNOHANG) == pid_;
  code_ = reaped && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  pid_ = 0;
  pidfd_.reset();
  return true;
}

int remove_all_named(const std::string& directory, const std::string& prefix) {
  std::vector<std::string> names;
  {
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(directory.c_str()), ::closedir);
    if (!dir) return 0;
    while (const dirent* entry = ::readdir(dir.get())) {
      if (std::string_view(entry->d_name).starts_with(prefix)) names.emplace_back(entry->d_name);
    }
  }
  int left = 0;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    const UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
    // The launcher that renamed it is about to release it, or another launcher removes it.
    if (lock && !lock_soon(lock.get())) continue;
    if (!sys::remove_tree(path)) ++left;
  }
  return std::min(left, 100);
}

void TreeRemover::begin() {
  if (task_) {
    again_ = true;
    return;
  }
  again_ = false;
  auto started = DiskTask::start([this] { return remove_all_named(directory_, prefix_); });
  if (started) {
    task_.emplace(std::move(*started));
  } else {
    log::warn("removed layers could not be deleted yet", {{"error", started.error().message()}});
  }
}

void TreeRemover::poll() {
  if (!task_ || !task_->is_finished(0)) return;
  if (!task_->succeeded())
    log::warn("a layer could not be removed completely", {{"directory", directory_}});
  task_.reset();
  if (again_) begin();
}

void TreeRemover::add_events(std::vector<pollfd>& events) const {
  if (task_) events.push_back({task_->pidfd(), POLLIN, 0});
}

void TreeRemover::finish() {
  for (int rounds = 0; rounds < 2 && task_ && task_->is_finished(kFinishTimeoutMs); ++rounds)
    poll();
  task_.reset();
}

}  // namespace glovebox::launcher
