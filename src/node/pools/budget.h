// What this host has allocated: how many sandboxes there are, and how much they may need at most:
// memory and disk of all, processes of runs (sessions share those that the launcher gives to their
// project). A Charge is the part of one sandbox, and is given back with it. One thread; the budget
// outlives its charges.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/assert.h"

namespace glovebox::node {

class Budget {
 public:
  Budget(std::uint32_t max_sandboxes, std::uint64_t max_bytes)
      : max_sandboxes_(max_sandboxes), max_bytes_(max_bytes) {}

  bool fits(std::uint32_t more_sandboxes, std::uint64_t more_bytes) const {
    // Adopted sandboxes count even if they exceed the limits.
    return sandboxes_ <= max_sandboxes_ && more_sandboxes <= max_sandboxes_ - sandboxes_ &&
           bytes_ <= max_bytes_ && more_bytes <= max_bytes_ - bytes_;
  }
  // Zero: they are not counted. They may be fewer than are in use.
  void set_max_pids(std::uint32_t pids) { max_pids_ = pids; }
  // What a run with this limit counts for. Even a host with few processes has room for eight runs.
  std::uint32_t counted_pids(std::uint32_t limit) const {
    return max_pids_ == 0 ? 0 : std::min(limit, std::max(1u, max_pids_ / 8));
  }
  bool fits_pids(std::uint32_t more) const {
    return max_pids_ == 0 || (pids_ <= max_pids_ && more <= max_pids_ - pids_);
  }
  std::uint32_t pids() const { return pids_; }
  std::uint32_t sandboxes() const { return sandboxes_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t max_bytes() const { return max_bytes_; }
  // Of the limits, in sandboxes, bytes or processes.
  bool holds_more_than_half(const std::string& owner) const {
    const auto held = held_.find(owner);
    return held != held_.end() &&
           (held->second.sandboxes > max_sandboxes_ / 2 || held->second.bytes > max_bytes_ / 2 ||
            (max_pids_ != 0 && held->second.pids > max_pids_ / 2));
  }
  // Whether the owner, with one more sandbox of so much, has at most `percent` of each limit. An
  // owner that has none may have one, however large.
  bool is_within_share(const std::string& owner, std::uint32_t percent, std::uint64_t more_bytes,
                       std::uint32_t more_pids) const {
    const auto held = held_.find(owner);
    if (held == held_.end() || percent >= 100) return true;
    const Held& now = held->second;
    const auto part = [percent](std::uint64_t limit) {
      return limit / 100 * percent + limit % 100 * percent / 100;
    };
    return now.sandboxes + 1 <= part(max_sandboxes_) &&
           now.bytes + more_bytes <= part(max_bytes_) &&
           (max_pids_ == 0 || now.pids + more_pids <= part(max_pids_));
  }
  std::uint32_t sandboxes_of(const std::string& owner) const {
    const auto held = held_.find(owner);
    return held == held_.end() ? 0 : held->second.sandboxes;
  }
  // Called when a charge was given back.
  void on_release(std::function<void()> call) { on_release_ = std::move(call); }

 private:
  friend class Charge;
  struct Held {
    std::uint32_t sandboxes = 0;
    std::uint64_t bytes = 0;
    std::uint32_t pids = 0;
  };
  std::map<std::string, Held> held_;  // by owners
  std::uint32_t max_sandboxes_;
  std::uint64_t max_bytes_;
  std::uint32_t max_pids_ = 0;
  std::uint32_t sandboxes_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint32_t pids_ = 0;
  std::function<void()> on_release_;
};

// One sandbox and so many bytes. The caller has checked fits() first, except for an adopted
// sandbox, which exists whether it fits or not.
class Charge {
 public:
  enum class Of : bool { kNew, kThere };
  Charge(Budget& budget, std::uint64_t bytes, Of of = Of::kNew) : budget_(&budget), bytes_(bytes) {
    GBX_ASSERT(of == Of::kThere || budget.fits(1, bytes));
    ++budget.sandboxes_;
    budget.bytes_ += bytes;
  }
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)),
        bytes_(other.bytes_),
        pids_(other.pids_),
        held_(std::exchange(other.held_, std::nullopt)) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (budget_ == nullptr) return;
    --budget_->sandboxes_;
    budget_->bytes_ -= bytes_;
    budget_->pids_ -= pids_;
    if (held_) {
      Budget::Held& held = (*held_)->second;
      held.bytes -= bytes_;
      held.pids -= pids_;
      if (--held.sandboxes == 0) budget_->held_.erase(*held_);
    }
    if (budget_->on_release_) budget_->on_release_();
  }

  void change(std::uint64_t bytes) {
    GBX_ASSERT(bytes <= bytes_ || budget_->fits(0, bytes - bytes_));
    budget_->bytes_ += bytes - bytes_;
    if (held_) (*held_)->second.bytes += bytes - bytes_;
    bytes_ = bytes;
  }
  // Counts for this owner from now on, with so many processes.
  void give_to(const std::string& owner, std::uint32_t pids = 0) {
    GBX_ASSERT(!held_);
    held_ = budget_->held_.try_emplace(owner).first;
    pids_ = pids;
    budget_->pids_ += pids;
    ++(*held_)->second.sandboxes;
    (*held_)->second.bytes += bytes_;
    (*held_)->second.pids += pids;
  }
  bool has_owner() const { return held_.has_value(); }
  bool is_of(const std::string& owner) const { return held_ && (*held_)->first == owner; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Budget* budget_;
  std::uint64_t bytes_;
  std::uint32_t pids_ = 0;
  std::optional<std::map<std::string, Budget::Held>::iterator> held_;
};

}  // namespace glovebox::node
