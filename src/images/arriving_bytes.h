// The disk that archives of images take while they arrive and are unpacked, shared among them: one
// may grow while it is smaller than what is still free. One alone gets half of all, and one that
// comes later half of what the others left. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace glovebox::images {

class ArrivingBytes {
 public:
  // Zero: there is no limit.
  explicit ArrivingBytes(std::uint64_t most) : most_(most) {}
  std::uint64_t total() const { return total_; }

  // What one archive takes; given back at the end.
  class Part {
   public:
    explicit Part(std::shared_ptr<ArrivingBytes> all) : all_(std::move(all)) {}
    ~Part() { all_->total_ -= bytes_; }
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

    // False: it may not.
    bool grow_to(std::uint64_t bytes) {
      const std::uint64_t total = all_->total_ - bytes_ + bytes;
      const std::uint64_t free = all_->most_ - std::min(all_->most_, total);
      if (all_->most_ != 0 && bytes > free) return false;
      all_->total_ = total;
      bytes_ = bytes;
      return true;
    }

   private:
    const std::shared_ptr<ArrivingBytes> all_;
    std::uint64_t bytes_ = 0;
  };

 private:
  const std::uint64_t most_;
  std::uint64_t total_ = 0;
};

}  // namespace glovebox::images
