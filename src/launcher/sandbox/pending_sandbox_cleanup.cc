#include "launcher/sandbox/pending_sandbox_cleanup.h"

namespace glovebox::launcher {
namespace {

// By then the kernel has uncharged most of the memory, so that removing the cgroup is cheap.
constexpr std::chrono::milliseconds kFirstDelay{400};
constexpr std::chrono::seconds kRetryDelay{1};

}  // namespace

void PendingSandboxCleanup::add(Sandbox sandbox) {
  entries_.push_back({std::move(sandbox), Clock::now() + kFirstDelay});
}

std::optional<Clock::time_point> PendingSandboxCleanup::next_due() const {
  if (entries_.empty()) return std::nullopt;
  return entries_.front().due;
}

bool PendingSandboxCleanup::clean_up_one(Entry& entry, const Release& release) {
  const bool was_empty = entry.sandbox.is_empty();
  const bool clean = entry.sandbox.clean_up();
  if (!was_empty && entry.sandbox.is_empty()) release(entry.sandbox);
  return clean;
}

void PendingSandboxCleanup::clean_up(std::size_t most, const Release& release) {
  const Clock::time_point now = Clock::now();
  while (!entries_.empty() && most-- > 0 && now >= entries_.front().due) {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    if (clean_up_one(entry, release)) continue;
    entry.due = now + kRetryDelay;
    entries_.push_back(std::move(entry));
  }
}

void PendingSandboxCleanup::clean_up_all(const Release& release) {
  for (Entry& entry : entries_) (void)clean_up_one(entry, release);
  entries_.clear();
}

}  // namespace glovebox::launcher
