#include "launcher/sandbox/slices.h"

#include <fcntl.h>
#include <sys/file.h>

namespace glovebox::launcher {
namespace {

// Open-file-description locks: they end when the last copy of the descriptor is closed, and two
// descriptors of one process conflict like those of two processes.
bool lock_range(int fd, std::uint32_t first, std::uint32_t count, short kind) {
  struct flock lock {};
  lock.l_type = kind;
  lock.l_whence = SEEK_SET;
  lock.l_start = first;
  lock.l_len = count;
  return ::fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

// Where the next search begins; stored behind the bytes that stand for slices.
constexpr off_t kCursorAt = 1 << 20;

}  // namespace

SliceBlock::SliceBlock(UniqueFd file, std::uint32_t host_uid, std::uint32_t count)
    : file_(std::move(file)), host_uid_(host_uid), count_(count) {
  for (std::uint32_t i = 1; i < count; ++i) free_.push_back(i * kSliceSize);
}

Result<SliceBlock> SliceBlock::lease(const std::string& file, std::uint32_t uid_first,
                                     std::uint32_t uid_last, std::uint32_t count) {
  const std::uint32_t total = (uid_last - uid_first + 1) / kSliceSize;
  if (count < 2 || count >= total)
    return fail(Errc::kResourceExhausted, "the policy's uid range has " + std::to_string(total) +
                                              " slices, too few for " + std::to_string(count) +
                                              "; widen [uids]");
  UniqueFd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail(Error::from_errno("open " + file));
  // One launcher searches at a time; flock(2) does not interact with the byte locks.
  if (::flock(fd.get(), LOCK_EX) != 0) return fail(Error::from_errno("lock " + file));
  std::uint32_t start = 0;
  if (::pread(fd.get(), &start, sizeof start, kCursorAt) != sizeof start || start >= total)
    start = 0;
  // From where the last lease ended: a slice is reused only after all the others.
  for (std::uint32_t tried = 0; tried < total; ++tried) {
    std::uint32_t first = (start + tried) % total;
    // The first slice is never leased: its first uid is the server's.
    if (first == 0 || first + count > total) continue;
    if (!lock_range(fd.get(), first, count, F_WRLCK)) continue;
    const std::uint32_t next = first + count >= total ? 0 : first + count;
    (void)!::pwrite(fd.get(), &next, sizeof next, kCursorAt);
    ::flock(fd.get(), LOCK_UN);
    return SliceBlock(std::move(fd), uid_first + first * kSliceSize, count);
  }
  return fail(Errc::kResourceExhausted,
              "all uid slices are in use; end some sandboxes, or widen [uids] in the policy");
}

Result<std::uint32_t> SliceBlock::take() {
  if (free_.empty())
    return fail(Errc::kResourceExhausted, "all uid slices of this launcher are in use");
  const std::uint32_t offset = free_.front();
  free_.pop_front();
  return offset;
}

void SliceBlock::give_back(std::uint32_t offset) { free_.push_back(offset); }

}  // namespace glovebox::launcher
