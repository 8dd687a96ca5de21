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
// The first slice of a range is never leased: its first uid is the server's.
constexpr std::uint32_t kFirstSlice = 1;

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

}  // namespace

Result<UidSlices> UidSlices::open(const std::string& file, std::uint32_t uid_first,
                                  std::uint32_t uid_last) {
  const std::uint32_t total = (uid_last - uid_first + 1) / kSliceSize;
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Error::from_errno("open " + file));
  UidSlices slices(std::move(fd), uid_first, total);
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
  std::uint32_t random = 0;
  (void)!::getrandom(&random, sizeof random, 0);
  // So that the last number still is a uid.
  constexpr std::uint32_t kSlicesOfAllUids = 65'535;
  slices.shift_ = random % (kSlicesOfAllUids - std::min(total, kSlicesOfAllUids - 1)) * kSliceSize;
  return slices;
}

std::vector<UidExtent> UidSlices::nursery_map() const {
  std::vector<UidExtent> map = {{0, nursery_uid(), kSliceSize}};
  if (nursery_ > kFirstSlice) map.push_back(extent(kFirstSlice, nursery_ - 1));
  if (nursery_ < total_ - 1) map.push_back(extent(nursery_ + 1, total_ - 1));
  return map;
}

UidExtent UidSlices::extent(std::uint32_t first, std::uint32_t last) const {
  const std::uint32_t inside = shift_ + first * kSliceSize;
  return {inside, host_uid(inside), (last - first + 1) * kSliceSize};
}

Result<std::uint32_t> UidSlices::take() {
  while (given_back_.size() > kApart) {
    const std::uint32_t own = given_back_.front();
    given_back_.pop_front();
    if (!lock(own)) continue;  // another launcher has it by now
    used_again_[own] = true;
    return shift_ + own * kSliceSize;
  }
  TRY(const std::uint32_t slice, lease());
  std::erase(given_back_, slice);
  used_again_[slice] = false;
  return shift_ + slice * kSliceSize;
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
    if (slice < kFirstSlice || held_[slice] || !lock(slice)) continue;
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
  for (std::uint32_t slice = kFirstSlice; slice < total_; ++slice) {
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
               "all " + std::to_string(total_ - kFirstSlice) +
                   " uid slices of this host are in use" + holders +
                   "; end some of their sandboxes, or widen [uids] in the policy");
}

void UidSlices::give_back(std::uint32_t slice) {
  const std::uint32_t index = index_of(slice);
  held_[index] = false;
  given_back_.push_back(index);
  (void)set_lock(file_.get(), byte_of(index), F_UNLCK);
}

}  // namespace glovebox::launcher
