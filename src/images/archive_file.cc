#include "images/archive_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/id.h"

namespace glovebox::images {
namespace {

constexpr std::uint64_t kLookEvery = 16ull << 20;
constexpr std::uint64_t kLeastFree = 256ull << 20;

}  // namespace

Result<ArchiveFile> ArchiveFile::create(const std::string& directory) {
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return fail(Error::from_errno("make " + directory));
  }
  UniqueFd file(::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return ArchiveFile(std::move(file));
  // A filesystem that makes no files without a name.
  const std::string path = directory + "/upload-" + random_label(16);
  file.reset(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file) return fail(Error::from_errno("make " + path));
  if (::unlink(path.c_str()) != 0) return fail(Error::from_errno("unlink " + path));
  return ArchiveFile(std::move(file));
}

Result<> ArchiveFile::append(std::string_view bytes) {
  if (size_ >= look_at_) {
    look_at_ = size_ + kLookEvery;
    struct statvfs room {};
    if (::fstatvfs(fd_.get(), &room) == 0 &&
        static_cast<std::uint64_t>(room.f_bavail) * room.f_frsize < kLeastFree) {
      return fail(Error(Errc::kResourceExhausted, "the server's disk is almost full", ENOSPC));
    }
  }
  while (!bytes.empty()) {
    const ssize_t wrote = ::write(fd_.get(), bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && (errno == ENOSPC || errno == EDQUOT)) {
      return fail(Error(Errc::kResourceExhausted, "the server's disk is full", errno));
    }
    if (wrote < 0) return fail(Error::from_errno("write the archive"));
    size_ += static_cast<std::uint64_t>(wrote);
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

Result<std::size_t> ArchiveFile::read(std::uint64_t offset, char* into, std::size_t size) const {
  while (true) {
    const ssize_t got = ::pread(fd_.get(), into, size, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read the archive"));
    return static_cast<std::size_t>(got);
  }
}

}  // namespace glovebox::images
