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

constexpr int kLessUrgent = 5;
constexpr int kMomentMs = 5000;
constexpr int kDiesWithinMs = 2000;

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

Result<Chore> Chore::start(const std::function<int()>& work) {
  const pid_t parent = ::getpid();
  TRY(sys::Cloned child, sys::clone_into(0));
  if (child.pid == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    // A client that is let go of must not find its socket open in here, nor a lock be held on.
    if (::syscall(SYS_close_range, 3u, ~0u, 0u) != 0) ::_exit(1);
    (void)::setpriority(PRIO_PROCESS, 0, kLessUrgent);
    ::_exit(work());
  }
  return Chore(child.pid, std::move(child.pidfd));
}

Chore::Chore(Chore&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), pidfd_(std::move(other.pidfd_)), code_(other.code_) {}

Chore& Chore::operator=(Chore&& other) noexcept {
  end();
  pid_ = std::exchange(other.pid_, 0);
  pidfd_ = std::move(other.pidfd_);
  code_ = other.code_;
  return *this;
}

Chore::~Chore() { end(); }

void Chore::end() {
  if (pid_ <= 0 || is_over(0)) return;
  sys::send_signal(pidfd_.get(), SIGKILL);
  // One that waits for a disk dies when that answers; then it is init's.
  if (!is_over(kDiesWithinMs)) log::warn("a child at work on the disk does not end");
  pid_ = 0;
}

bool Chore::is_over(int wait_ms) {
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
    // Whoever named it so lets go of it now; or another launcher is at it.
    if (lock && !lock_soon(lock.get())) continue;
    if (!sys::remove_tree(path)) ++left;
  }
  return std::min(left, 100);
}

void Removals::begin() {
  if (chore_) {
    again_ = true;
    return;
  }
  again_ = false;
  auto started = Chore::start([this] { return remove_all_named(directory_, prefix_); });
  if (started) {
    chore_.emplace(std::move(*started));
  } else {
    log::warn("nothing is removed for now", {{"error", started.error().message()}});
  }
}

void Removals::look() {
  if (!chore_ || !chore_->is_over(0)) return;
  if (!chore_->went_well()) log::warn("a layer was not removed", {{"directory", directory_}});
  chore_.reset();
  if (again_) begin();
}

void Removals::add_events(std::vector<pollfd>& events) const {
  if (chore_) events.push_back({chore_->pidfd(), POLLIN, 0});
}

void Removals::finish() {
  for (int rounds = 0; rounds < 2 && chore_ && chore_->is_over(kMomentMs); ++rounds) look();
  chore_.reset();
}

}  // namespace glovebox::launcher
