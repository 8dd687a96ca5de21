// The server's memory for bytes that wait to be read: output of runs, large answers, input of
// processes. An answer that is sent as a whole is kept until its run ends; this bounds all of them
// together, and shares the memory among their owners, the projects: one may take more while it has
// less than is free, so that one alone gets half of all. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace glovebox {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t most) : most_(most) {}

  // How much of it may be kept; the caller drops the rest and reports that.
  std::uint64_t add(const std::string& owner, std::uint64_t bytes) {
    const auto found = by_owner_.find(owner);
    const std::uint64_t own = found == by_owner_.end() ? 0 : found->second;
    const std::uint64_t free = most_ - std::min(most_, held_);
    const std::uint64_t kept = std::min(bytes, free > own ? (free - own) / 2 : 0);
    if (kept == 0) return 0;
    held_ += kept;
    by_owner_[owner] += kept;
    return kept;
  }
  // A claim on all of it, let go with what is returned; null: there is no room.
  std::shared_ptr<void> claim(const std::string& owner, std::uint64_t bytes) {
    const std::uint64_t kept = add(owner, bytes);
    if (kept < bytes) {
      release(owner, kept);
      return nullptr;
    }
    return std::shared_ptr<void>(this, [owner, bytes](void* self) {
      static_cast<MemoryBudget*>(self)->release(owner, bytes);
    });
  }
  void release(const std::string& owner, std::uint64_t bytes) {
    if (bytes == 0) return;
    held_ -= bytes;
    const auto found = by_owner_.find(owner);
    found->second -= bytes;
    if (found->second == 0) by_owner_.erase(found);
  }
  std::uint64_t held() const { return held_; }

 private:
  const std::uint64_t most_;
  std::uint64_t held_ = 0;
  std::map<std::string, std::uint64_t> by_owner_;
};

}  // namespace glovebox
