#include "launcher/sandbox/pending_sandbox_cleanup.h"

namespace glovebox::launcher {
namespace {

// After this the kernel has let go of most of what it counts, and there is little left to force.
constexpr std::chrono::milliseconds kRestsFor{400};
constexpr std::chrono::seconds kTriedAgainAfter{1};

}  // namespace

void Graves::add(Sandbox sandbox) {
  graves_.push_back({std::move(sandbox), Clock::now() + kRestsFor});
}

std::optional<Clock::time_point> Graves::next_due() const {
  if (graves_.empty()) return std::nullopt;
  return graves_.front().due;
}

bool Graves::clean_up_one(Grave& grave, const Release& release) {
  const bool was_empty = grave.sandbox.is_empty();
  const bool clean = grave.sandbox.clean_up();
  if (!was_empty && grave.sandbox.is_empty()) release(grave.sandbox);
  return clean;
}

void Graves::clean_up(std::size_t most, const Release& release) {
  const Clock::time_point now = Clock::now();
  while (!graves_.empty() && most-- > 0 && now >= graves_.front().due) {
    Grave grave = std::move(graves_.front());
    graves_.pop_front();
    if (clean_up_one(grave, release)) continue;
    grave.due = now + kTriedAgainAfter;
    graves_.push_back(std::move(grave));
  }
}

void Graves::clean_up_all(const Release& release) {
  for (Grave& grave : graves_) (void)clean_up_one(grave, release);
  graves_.clear();
}

}  // namespace glovebox::launcher
