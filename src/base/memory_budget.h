// The server's memory for bytes that wait to be read: output of runs, large answers, input of
// processes. An answer that is sent as a whole is kept until its run ends; this bounds all of them
// together.
#pragma once

#include <cstdint>
#include <memory>

namespace glovebox {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}

  // How much of it may be kept; the caller drops the rest and reports that.
  std::uint64_t add(std::uint64_t bytes) {
    const std::uint64_t kept = held_ + bytes > most_ ? (most_ > held_ ? most_ - held_ : 0) : bytes;
    held_ += kept;
    return kept;
  }
  // A claim on all of it, let go with what is returned; null: there is no room.
  std::shared_ptr<void> claim(std::uint64_t bytes) {
    const std::uint64_t kept = add(bytes);
    if (kept < bytes) {
      release(kept);
      return nullptr;
    }
    return std::shared_ptr<void>(
        this, [bytes](void* self) { static_cast<MemoryBudget*>(self)->release(bytes); });
  }
  void release(std::uint64_t bytes) { held_ -= bytes; }
  std::uint64_t held() const { return held_; }

 private:
  std::uint64_t most_;
  std::uint64_t held_ = 0;
};

}  // namespace glovebox
