#include "launcher/nursery/pending_zygote_cleanup.h"

#include <poll.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/log.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::milliseconds kMaxInterval{1000};
// Tried in one round of the launcher's loop.
constexpr std::size_t kMaxPerRound = 4;
constexpr std::chrono::seconds kFinalTimeout{10};

}  // namespace

void PendingZygoteCleanup::add_child(pid_t pid, UniqueFd pidfd) {
  Entry entry;
  entry.child = pid;
  entry.pidfd = std::move(pidfd);
  entry.due = Clock::now() + entry.interval;
  entries_.push_back(std::move(entry));
}

void PendingZygoteCleanup::add_group(UniqueFd pidfd, sys::Cgroup cgroup,
                                     std::shared_ptr<const void> leases) {
  Entry entry;
  entry.pidfd = std::move(pidfd);
  entry.cgroup = std::move(cgroup);
  entry.leases = std::move(leases);
  (void)entry.cgroup.remove_now();  // kills every process in it at once
  entry.due = Clock::now() + entry.interval;
  entries_.push_back(std::move(entry));
}

bool PendingZygoteCleanup::is_finished(Entry& entry, int wait_ms) {
  if (entry.pidfd) {
    pollfd dead{entry.pidfd.get(), POLLIN, 0};
    if (::poll(&dead, 1, wait_ms) != 1) return false;
    if (entry.child > 0) ::waitpid(entry.child, nullptr, WNOHANG);
    entry.pidfd.reset();
  }
  return entry.cgroup.is_removed() || entry.cgroup.remove_now().has_value();
}

void PendingZygoteCleanup::clean_up(Clock::time_point now) {
  std::size_t tried = 0;
  for (auto at = entries_.begin(); at != entries_.end() && tried < kMaxPerRound;) {
    Entry& entry = *at;
    const auto next = std::next(at);
    if (now >= entry.due) {
      ++tried;
      if (is_finished(entry, 0)) {
        entries_.erase(at);
      } else {
        entry.interval = std::min(entry.interval * 2, kMaxInterval);
        entry.due = now + entry.interval;
      }
    }
    at = next;
  }
}

void PendingZygoteCleanup::clean_up_all() {
  const Clock::time_point deadline = Clock::now() + kFinalTimeout;
  const auto left_ms = [deadline] {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return static_cast<int>(std::max<long long>(left, 0));
  };
  for (Entry& entry : entries_) {
    while (!is_finished(entry, left_ms()) && left_ms() > 0) ::poll(nullptr, 0, 1);
    if (entry.pidfd) log::warn("a killed process has not exited in time");
  }
  entries_.clear();
}

std::optional<PendingZygoteCleanup::Clock::time_point> PendingZygoteCleanup::next_due() const {
  if (entries_.empty()) return std::nullopt;
  return std::min_element(entries_.begin(), entries_.end(),
                          [](const Entry& a, const Entry& b) { return a.due < b.due; })
      ->due;
}

}  // namespace glovebox::launcher
