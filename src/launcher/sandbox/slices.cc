#include "launcher/sandbox/slices.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "sys/file.h"

namespace glovebox::launcher {
namespace {

// Behind the bytes that stand for slices: how many were tried so far, which says where the next
// search begins, and who took each slice.
constexpr off_t kCursorAt = 1 << 20;
constexpr off_t kOwnersAt = kCursorAt + 64;

// Open-file-description locks: they end when the last copy of the descriptor is closed, and two
// descriptors of one process conflict like those of two processes.
bool set_lock(int fd, std::uint32_t byte, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

off_t owner_at(std::uint32_t byte) {
  return kOwnersAt + static_cast<off_t>(byte * sizeof(std::int32_t));
}

// "glovebox-launch (pid 4711)". The name is one that any process can give itself.
std::string describe_owner(std::int32_t pid) {
  const auto comm = sys::read_small_file(AT_FDCWD, "/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  for (const char c : comm.value_or("")) {
    if (c > ' ' && c < 0x7f) name += c;
  }
  return (name.empty() ? "a launcher" : name) + " (pid " + std::to_string(pid) + ")";
}

// One launcher searches at a time; flock(2) does not interact with the byte locks.
class SearchLock {
 public:
  explicit SearchLock(int fd) : fd_(::flock(fd, LOCK_EX) == 0 ? fd : -1) {}
  SearchLock(const SearchLock&) = delete;
  SearchLock& operator=(const SearchLock&) = delete;
  ~SearchLock() {
    if (fd_ >= 0) ::flock(fd_, LOCK_UN);
  }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

Result<UniqueFd> open_leases(const std::string& file) {
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Error::from_errno("open " + file));
  return fd;
}

std::uint32_t random_number() {
  std::uint32_t random = 0;
  (void)!::getrandom(&random, sizeof random, 0);
  return random;
}

}  // namespace

Result<UidSlices> UidSlices::open(const std::string& file, std::uint32_t uid_first,
                                  std::uint32_t uid_last) {
  const std::uint32_t total = (uid_last - uid_first + 1) / kSliceSize;
  TRY(UniqueFd leases, open_leases(file));
  UidSlices slices(std::move(leases), uid_first, uid_first, total, kSliceSize);
  // Shared by the launchers of this range. One with another range must not lease it.
  if (!set_lock(slices.file_.get(), slices.byte_of(0), F_RDLCK)) {
    return fail(Errc::kResourceExhausted,
                "uid " + std::to_string(uid_first) +
                    " is the server's, and a launcher with another [uids] range has leased it to a "
                    "sandbox; give the policies ranges that do not overlap");
  }
  const std::int32_t owner = ::getpid();
  (void)!::pwrite(slices.file_.get(), &owner, sizeof owner, owner_at(slices.byte_of(0)));
  TRY(slices.nursery_, slices.lease());
  // So that the last number still is a uid.
  constexpr std::uint32_t kSlicesOfAllUids = 65'535;
  slices.shift_ =
      random_number() % (kSlicesOfAllUids - std::min(total, kSlicesOfAllUids - 1)) * kSliceSize;
  return slices;
}

Result<UidSlices> UidSlices::open_subordinate(const std::string& file,
                                              const SubordinateUids& uids) {
  constexpr std::uint32_t kSize = kSmallSliceSize;
  const std::uint32_t left_out = (kSize - uids.host_first % kSize) % kSize;
  const std::uint32_t total = uids.count < left_out ? 0 : (uids.count - left_out) / kSize;
  if (total == 0) {
    return fail(Errc::kResourceExhausted,
                std::to_string(uids.count) + " subordinate ids are too few: one sandbox needs " +
                    std::to_string(kSize) + ", from a multiple of that number on");
  }
  TRY(UniqueFd leases, open_leases(file));
  UidSlices slices(std::move(leases), uids.host_first + left_out, uids.here_first + left_out, total,
                   kSize);
  // Number 0 is the nursery's root, so no slice begins there, and the last number still is a uid.
  constexpr std::uint32_t kSlicesOfAllUids = 0xffff'ffffu / kSize;
  slices.shift_ = (1 + random_number() % (kSlicesOfAllUids - total - 1)) * kSize;
  return slices;
}

std::vector<UidExtent> UidSlices::nursery_map() const {
  if (is_subordinate()) return {{0, 0, 1}, extent(0, total_ - 1)};
  std::vector<UidExtent> map = {{0, nursery_uid(), size_}};
  if (nursery_ > first_slice()) map.push_back(extent(first_slice(), nursery_ - 1));
  if (nursery_ < total_ - 1) map.push_back(extent(nursery_ + 1, total_ - 1));
  return map;
}

UidExtent UidSlices::extent(std::uint32_t first, std::uint32_t last) const {
  const std::uint32_t inside = shift_ + first * size_;
  return {inside, host_uid(inside), (last - first + 1) * size_};
}

Result<std::uint32_t> UidSlices::take() {
  while (given_back_.size() > kApart) {
    const std::uint32_t own = given_back_.front();
    given_back_.pop_front();
    if (!lock(own)) continue;  // another launcher has it by now
    used_again_[own] = true;
    return shift_ + own * size_;
  }
  TRY(const std::uint32_t slice, lease());
  std::erase(given_back_, slice);
  used_again_[slice] = false;
  return shift_ + slice * size_;
}

// The slice's place in the range.
Result<std::uint32_t> UidSlices::lease() {
  const SearchLock search(file_.get());
  if (!search) return fail(Error::from_errno("lock the slices of uids"));
  std::uint32_t start = 0;
  if (::pread(file_.get(), &start, sizeof start, kCursorAt) != sizeof start) start = 0;
  // From where the last search ended: a slice is reused only after all the others. The cursor only
  // grows, so that launchers with ranges of another length do not set each other back.
  for (std::uint32_t tried = 0; tried < total_; ++tried) {
    const std::uint32_t slice = (start + tried) % total_;
    if (slice < first_slice() || held_[slice] || !lock(slice)) continue;
    const std::uint32_t next = start + tried + 1;
    (void)!::pwrite(file_.get(), &next, sizeof next, kCursorAt);
    return slice;
  }
  return fail(all_in_use());
}

bool UidSlices::lock(std::uint32_t slice) {
  if (!set_lock(file_.get(), byte_of(slice), F_WRLCK)) return false;
  held_[slice] = true;
  const std::int32_t owner = ::getpid();
  // For the message when all are in use; not needed for the lease itself.
  (void)!::pwrite(file_.get(), &owner, sizeof owner, owner_at(byte_of(slice)));
  return true;
}

Error UidSlices::all_in_use() const {
  std::map<std::int32_t, std::uint32_t> by_owner;
  for (std::uint32_t slice = first_slice(); slice < total_; ++slice) {
    std::int32_t owner = 0;
    if (::pread(file_.get(), &owner, sizeof owner, owner_at(byte_of(slice))) == sizeof owner) {
      ++by_owner[owner];
    }
  }
  std::vector<std::pair<std::int32_t, std::uint32_t>> most(by_owner.begin(), by_owner.end());
  std::sort(most.begin(), most.end(),
            [](const auto& one, const auto& other) { return one.second > other.second; });
  std::string holders;
  constexpr std::size_t kNamed = 5;
  for (std::size_t i = 0; i < std::min(most.size(), kNamed); ++i) {
    holders += (i == 0 ? ": " : ", ") + std::to_string(most[i].second) + " by " +
               describe_owner(most[i].first);
  }
  if (most.size() > kNamed) {
    holders += " and others (" + std::to_string(most.size() - kNamed) + ")";
  }
  return Error(Errc::kResourceExhausted,
               "all " + std::to_string(total_ - first_slice()) + " uid slices of this " +
                   (is_subordinate() ? "user" : "host") + " are in use" + holders +
                   "; end some of their sandboxes, or " +
                   (is_subordinate() ? "give this user more subordinate ids"
                                     : "widen [uids] in the policy"));
}

void UidSlices::give_back(std::uint32_t slice) {
  const std::uint32_t index = index_of(slice);
  held_[index] = false;
  given_back_.push_back(index);
  (void)set_lock(file_.get(), byte_of(index), F_UNLCK);
}

}  // namespace glovebox::launcher
