#include "launcher/jail/kept_lower.h"

#include <algorithm>
#include <utility>

namespace glovebox::launcher {

const KeptLower* KeptLowers::find(std::uint32_t host_uid, Clock::time_point now) {
  const auto found = all_.find(host_uid);
  if (found == all_.end()) return nullptr;
  found->second.used_at = now;
  return &found->second.lower;
}

void KeptLowers::add(std::uint32_t host_uid, KeptLower lower, Clock::time_point now) {
  if (all_.empty()) look_at_ = now + kIdle;
  all_.insert_or_assign(host_uid, Entry{std::move(lower), now});
  if (all_.size() > kMost) all_.erase(oldest());
}

void KeptLowers::drop_idle(Clock::time_point now) {
  if (all_.empty() || now < look_at_) return;
  std::erase_if(all_, [now](const auto& one) { return now - one.second.used_at >= kIdle; });
  if (!all_.empty()) look_at_ = oldest()->second.used_at + kIdle;
}

std::map<std::uint32_t, KeptLowers::Entry>::const_iterator KeptLowers::oldest() const {
  return std::min_element(all_.begin(), all_.end(), [](const auto& one, const auto& other) {
    return one.second.used_at < other.second.used_at;
  });
}

}  // namespace glovebox::launcher
