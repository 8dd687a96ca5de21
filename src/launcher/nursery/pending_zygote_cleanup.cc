#include "launcher/nursery/pending_zygote_cleanup.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::milliseconds kLongestPause{1000};
// Of one round of the launcher's loop.
constexpr std::size_t kMostAtOnce = 4;
constexpr std::chrono::seconds kMostAtTheEnd{10};

}  // namespace

void Remains::add_child(pid_t pid, UniqueFd pidfd) {
  One one;
  one.child = pid;
  one.pidfd = std::move(pidfd);
  one.due = Clock::now() + one.pause;
  all_.push_back(std::move(one));
}

void Remains::add_group(UniqueFd pidfd, sys::Cgroup cgroup, std::shared_ptr<const void> held) {
  One one;
  one.pidfd = std::move(pidfd);
  one.cgroup = std::move(cgroup);
  one.held = std::move(held);
  (void)one.cgroup.remove_now();  // kills; at once, and whoever is to die is on his way
  one.due = Clock::now() + one.pause;
  all_.push_back(std::move(one));
}

bool Remains::is_over(One& one, int wait_ms) {
  if (one.pidfd) {
    pollfd dead{one.pidfd.get(), POLLIN, 0};
    if (::poll(&dead, 1, wait_ms) != 1) return false;
    if (one.child > 0) ::waitpid(one.child, nullptr, WNOHANG);
    one.pidfd.reset();
  }
  return one.cgroup.is_removed() || one.cgroup.remove_now().has_value();
}

void Remains::clean_up(Clock::time_point now) {
  std::size_t looked_at = 0;
  for (auto at = all_.begin(); at != all_.end() && looked_at < kMostAtOnce;) {
    One& one = *at;
    const auto next = std::next(at);
    if (now >= one.due) {
      ++looked_at;
      if (is_over(one, 0)) {
        all_.erase(at);
      } else {
        one.pause = std::min(one.pause * 2, kLongestPause);
        one.due = now + one.pause;
      }
    }
    at = next;
  }
}

void Remains::clean_up_all() {
  const Clock::time_point deadline = Clock::now() + kMostAtTheEnd;
  const auto left_ms = [deadline] {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::max<long long>(left, 0));
  };
  for (One& one : all_) {
    while (!is_over(one, left_ms()) && left_ms() > 0) ::poll(nullptr, 0, 1);
    if (one.pidfd) log::warn("a process does not end");
  }
  all_.clear();
}

std::optional<Remains::Clock::time_point> Remains::next_due() const {
  if (all_.empty()) return std::nullopt;
  return std::min_element(all_.begin(), all_.end(),
                          [](const One& a, const One& b) { return a.due < b.due; })
      ->due;
}

}  // namespace glovebox::launcher
