#include "signin/attempts.h"

#include <algorithm>

namespace glovebox::signin {

std::optional<std::chrono::seconds> Attempts::must_wait(const std::string& network,
                                                        TimePoint now) const {
  const auto found = forgiven_at_.find(network);
  if (found == forgiven_at_.end()) return std::nullopt;
  // Room for one more failure within the burst.
  const TimePoint allowed_from = found->second - kForgiveness * (kBurst - 1);
  if (now >= allowed_from) return std::nullopt;
  return std::chrono::ceil<std::chrono::seconds>(allowed_from - now);
}

void Attempts::count_failure(const std::string& network, TimePoint now) {
  if (!forgiven_at_.contains(network)) make_room(now);
  TimePoint& forgiven = forgiven_at_[network];
  forgiven = std::max(forgiven, now) + kForgiveness;
}

void Attempts::make_room(TimePoint now) {
  if (forgiven_at_.size() < kNetworks) return;
  std::erase_if(forgiven_at_, [now](const auto& item) { return item.second <= now; });
  if (forgiven_at_.size() < kNetworks) return;
  // The one with the fewest failures left.
  forgiven_at_.erase(
      std::min_element(forgiven_at_.begin(), forgiven_at_.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; }));
}

}  // namespace glovebox::signin
