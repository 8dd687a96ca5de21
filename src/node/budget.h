// What this host has given away: how many sandboxes there are, and how much they may need at most.
// A charge is held by what it was given for, and goes back with it.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/assert.h"

namespace glovebox::node {

class Budget {
 public:
  Budget(std::uint32_t max_sandboxes, std::uint64_t max_bytes)
      : max_sandboxes_(max_sandboxes), max_bytes_(max_bytes) {}

  bool fits(std::uint32_t more_sandboxes, std::uint64_t more_bytes) const {
    return more_sandboxes <= max_sandboxes_ - sandboxes_ && more_bytes <= max_bytes_ - bytes_;
  }
  std::uint32_t sandboxes() const { return sandboxes_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t max_bytes() const { return max_bytes_; }
  // Called when something came back.
  void on_release(std::function<void()> call) { on_release_ = std::move(call); }

 private:
  friend class Charge;
  std::uint32_t max_sandboxes_;
  std::uint64_t max_bytes_;
  std::uint32_t sandboxes_ = 0;
  std::uint64_t bytes_ = 0;
  std::function<void()> on_release_;
};

// One sandbox and so many bytes. Whoever makes one has asked fits() first.
class Charge {
 public:
  Charge(Budget& budget, std::uint64_t bytes) : budget_(&budget), bytes_(bytes) {
    GBX_ASSERT(budget.fits(1, bytes));
    ++budget.sandboxes_;
    budget.bytes_ += bytes;
  }
  Charge(Charge&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(other.bytes_) {}
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (budget_ == nullptr) return;
    --budget_->sandboxes_;
    budget_->bytes_ -= bytes_;
    if (budget_->on_release_) budget_->on_release_();
  }

  void change(std::uint64_t bytes) {
    GBX_ASSERT(bytes <= bytes_ || budget_->fits(0, bytes - bytes_));
    budget_->bytes_ += bytes - bytes_;
    bytes_ = bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  Budget* budget_;
  std::uint64_t bytes_;
};

}  // namespace glovebox::node
