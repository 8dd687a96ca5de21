#include "gateway/dns/reloading_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/unique_fd.h"

namespace glovebox::gateway {
namespace {

std::string read_text(int fd, std::size_t max_bytes) {
  std::string text(max_bytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace

std::optional<std::string> ReloadingFile::read_if_changed(Time now) {
  if (checked_at_ && now - *checked_at_ < kCheckInterval) return std::nullopt;
  const bool is_first = !checked_at_;
  checked_at_ = now;
  const UniqueFd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  std::optional<Stamp> stamp;
  if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) {
    stamp = Stamp{.seconds = status.st_mtim.tv_sec,
                  .nanoseconds = status.st_mtim.tv_nsec,
                  .inode = status.st_ino,
                  .size = status.st_size};
  }
  if (!is_first && stamp == stamp_) return std::nullopt;
  stamp_ = stamp;
  return stamp ? read_text(file.get(), max_bytes_) : std::string();
}

}  // namespace glovebox::gateway
