// Slices of host uids, leased one by one by file locks across all launchers of this host, or of
// one ordinary user with subordinate ids. Two sandboxes never share a kernel uid. A launcher gives
// a slice out again only after 64 others that it was given back later, and then prefers it to a new
// one: for it, mounts are kept (kept_lower.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::launcher {

inline constexpr std::uint32_t kSliceSize = 65'536;
// Of an ordinary user's subordinate ids, of which there usually are 65,536 in all: enough for the
// accounts of a system and some users.
inline constexpr std::uint32_t kSmallSliceSize = 2'048;

// The subordinate ids of an ordinary user.
struct SubordinateUids {
  std::uint32_t host_first = 0;
  std::uint32_t here_first = 0;  // their number in the launcher's own user namespace
  std::uint32_t count = 0;
};

// One line of a uid map.
struct UidExtent {
  std::uint32_t inside = 0;
  std::uint32_t outside = 0;
  std::uint32_t count = 0;
  bool operator==(const UidExtent&) const = default;
};

// One launcher's leases: a slice for its nurseries, and one for each of its sandboxes. A nursery
// numbers the uids of the whole range in the host's order, so that a slice which is leased later
// has its place there; only the nursery's own slice is at 0. The numbers begin anywhere: a guest
// reads them in its uid_map, and must not learn the host's from them.
class UidSlices {
 public:
  // `file` is shared by all launchers. One byte stands for one slice of all uids, whatever a
  // launcher's own range, and a lock on the byte is the lease, which ends with the process even if
  // that is killed. Leases the nurseries' slice.
  static Result<UidSlices> open(const std::string& file, std::uint32_t uid_first,
                                std::uint32_t uid_last);
  // Small slices. `file` is shared by all launchers of this user; a slice begins at a multiple of
  // its size on the host, so that it is the same one after the range was changed. The root of
  // nurseries is the user itself. kResourceExhausted: there is no whole slice among the ids.
  static Result<UidSlices> open_subordinate(const std::string& file, const SubordinateUids& uids);
  UidSlices(UidSlices&&) = default;
  UidSlices& operator=(UidSlices&&) = default;

  std::uint32_t size() const { return size_; }
  // The number of the nurseries' root, as the launcher numbers uids.
  std::uint32_t nursery_uid() const { return is_subordinate() ? 0 : uid_first_ + nursery_ * size_; }
  std::vector<UidExtent> nursery_map() const;

  // How many slices lie between two uses of one.
  static constexpr std::size_t kApart = 64;
  // A slice for a sandbox: its first uid in the nursery's numbers; least recently used first.
  // kResourceExhausted: all slices of the host are in use; the message says by whom.
  Result<std::uint32_t> take();
  void give_back(std::uint32_t slice);
  // Whether a slice that is taken is one that this launcher had before, and will have again.
  bool is_used_again(std::uint32_t slice) const { return used_again_[index_of(slice)]; }
  // The number of a slice's first uid, as the launcher numbers uids: for root, the host's.
  std::uint32_t host_uid(std::uint32_t slice) const { return here_first_ + (slice - shift_); }

 private:
  UidSlices(UniqueFd file, std::uint32_t uid_first, std::uint32_t here_first, std::uint32_t total,
            std::uint32_t size)
      : file_(std::move(file)),
        uid_first_(uid_first),
        here_first_(here_first),
        total_(total),
        size_(size),
        held_(total),
        used_again_(total) {}
  bool is_subordinate() const { return size_ == kSmallSliceSize; }
  // The first slice of a policy's range is never leased: its first uid is the server's.
  std::uint32_t first_slice() const { return is_subordinate() ? 0 : 1; }
  Result<std::uint32_t> lease();
  bool lock(std::uint32_t slice);
  std::uint32_t index_of(std::uint32_t slice) const { return (slice - shift_) / size_; }
  std::uint32_t byte_of(std::uint32_t slice) const { return uid_first_ / size_ + slice; }
  UidExtent extent(std::uint32_t first, std::uint32_t last) const;
  Error all_in_use() const;

  UniqueFd file_;
  std::uint32_t uid_first_ = 0;   // on the host
  std::uint32_t here_first_ = 0;  // the same uid in the launcher's user namespace
  std::uint32_t total_ = 0;       // slices in the range
  std::uint32_t size_ = 0;
  std::uint32_t nursery_ = 0;  // its own slice
  std::uint32_t shift_ = 0;    // between the nursery's numbers and those in the range
  // The locks of one descriptor do not conflict with each other.
  std::vector<bool> held_;
  std::vector<bool> used_again_;          // of those
  std::deque<std::uint32_t> given_back_;  // and not held by us again, the first one first
};

}  // namespace glovebox::launcher
