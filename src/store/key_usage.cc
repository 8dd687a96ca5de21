#include "store/key_usage.h"

#include <algorithm>

namespace glovebox::store {

namespace {

constexpr std::chrono::seconds kWindow{60};
// When a run ends is unknown; a second is soon enough to ask again, and late enough not to flood.
constexpr std::chrono::seconds kAskAgain{1};

std::string megabytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MB"; }

std::string wait_for(std::chrono::seconds seconds) {
  return "; try again in " + std::to_string(seconds.count()) + " s";
}

tl::unexpected<Refusal> refuse(const std::string& what, std::chrono::seconds retry_after) {
  return tl::unexpected<Refusal>(
      Refusal{.error = Error(Errc::kResourceExhausted, what + wait_for(retry_after)),
              .retry_after = retry_after});
}

}  // namespace

KeyUsage::Admission::Admission(Admission&& other) noexcept
    : use_(std::move(other.use_)),
      memory_bytes_(other.memory_bytes_),
      in_flight_(other.in_flight_) {}

KeyUsage::Admission& KeyUsage::Admission::operator=(Admission&& other) noexcept {
  if (this == &other) return *this;
  release();
  use_ = std::move(other.use_);
  memory_bytes_ = other.memory_bytes_;
  in_flight_ = other.in_flight_;
  return *this;
}

void KeyUsage::Admission::release() noexcept {
  if (!use_) return;
  use_->in_flight -= in_flight_;
  use_->memory_bytes -= memory_bytes_;
  use_.reset();
}

tl::expected<KeyUsage::Admission, Refusal> KeyUsage::admit(const Principal& who,
                                                           std::uint64_t memory_bytes,
                                                           TimePoint now) {
  const KeyLimits& limits = who.limits;
  std::shared_ptr<Use>& use = uses_[who.key];
  if (!use) use = std::make_shared<Use>();

  if (limits.max_memory_bytes != 0 && memory_bytes > limits.max_memory_bytes) {
    return tl::unexpected<Refusal>(Refusal{
        .error = Error(Errc::kPolicy, "this key may use " + megabytes(limits.max_memory_bytes) +
                                          " of memory at once, and this run asks for " +
                                          megabytes(memory_bytes)),
        .retry_after = std::chrono::seconds(0)});
  }
  if (limits.max_in_flight != 0 && use->in_flight >= limits.max_in_flight) {
    return refuse("this key may have " + std::to_string(limits.max_in_flight) +
                      " runs in flight, and that many are in flight",
                  kAskAgain);
  }
  // Sessions are held even beyond the limit, for example after it was lowered.
  const std::uint64_t free_bytes =
      limits.max_memory_bytes - std::min(use->memory_bytes, limits.max_memory_bytes);
  if (limits.max_memory_bytes != 0 && memory_bytes > free_bytes) {
    return refuse("this key may use " + megabytes(limits.max_memory_bytes) +
                      " of memory at once, and its runs use " + megabytes(use->memory_bytes),
                  kAskAgain);
  }
  if (limits.runs_per_minute != 0) {
    // Exact, not a bucket: in any 60 seconds there are at most so many.
    while (!use->started.empty() && use->started.front() + kWindow <= now) {
      use->started.pop_front();
    }
    if (use->started.size() >= limits.runs_per_minute) {
      // Of those that count, enough must grow old that one fits again.
      const std::size_t must_go = use->started.size() - limits.runs_per_minute;
      const auto wait =
          std::chrono::ceil<std::chrono::seconds>(use->started[must_go] + kWindow - now);
      return refuse("this key may start " + std::to_string(limits.runs_per_minute) +
                        " runs per minute, and has started that many",
                    std::max(wait, kAskAgain));
    }
    use->started.push_back(now);
  }
  ++use->in_flight;
  use->memory_bytes += memory_bytes;
  return Admission(use, memory_bytes, 1);
}

KeyUsage::Admission KeyUsage::hold(const KeyId& key, std::uint64_t memory_bytes) {
  std::shared_ptr<Use>& use = uses_[key];
  if (!use) use = std::make_shared<Use>();
  use->memory_bytes += memory_bytes;
  return Admission(use, memory_bytes, 0);
}

std::uint32_t KeyUsage::in_flight(const KeyId& key) const {
  const auto found = uses_.find(key);
  return found == uses_.end() ? 0 : found->second->in_flight;
}

}  // namespace glovebox::store
