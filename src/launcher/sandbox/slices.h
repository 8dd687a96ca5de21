// Slices of host uids, leased by file locks across all launchers of this host. Two sandboxes never
// share a kernel uid, and a slice that was just given back is the last to be given out again.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

inline constexpr std::uint32_t kSliceSize = 65'536;

// A block of adjacent slices that one launcher holds. The first belongs to its nurseries, the
// others to its sandboxes.
class SliceBlock {
 public:
  // `file` is shared by all launchers. One byte stands for one slice, and a lock on the byte is the
  // lease, which ends with the process even if that is killed.
  static Result<SliceBlock> lease(const std::string& file, std::uint32_t uid_first,
                                  std::uint32_t uid_last, std::uint32_t count);
  SliceBlock(SliceBlock&&) = default;
  SliceBlock& operator=(SliceBlock&&) = default;

  std::uint32_t host_uid() const { return host_uid_; }  // the block's first uid
  std::uint32_t uid_count() const { return count_ * kSliceSize; }

  // A slice for a sandbox, as an offset from host_uid(); least recently used first.
  Result<std::uint32_t> take();
  void give_back(std::uint32_t offset);

 private:
  SliceBlock(UniqueFd file, std::uint32_t host_uid, std::uint32_t count);
  UniqueFd file_;
  std::uint32_t host_uid_ = 0;
  std::uint32_t count_ = 0;
  std::deque<std::uint32_t> free_;
};

}  // namespace glovebox::launcher
