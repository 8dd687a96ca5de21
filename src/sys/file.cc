#include "sys/file.h"

#include <fcntl.h>
#include <poll.h>

namespace glovebox::sys {

Result<UniqueFd> open_dir(int dir_fd, const std::string& path) {
  UniqueFd fd(::openat(dir_fd, path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return fail(Error::from_errno("open directory " + path));
  return fd;
}

Result<std::string> read_small_file(int dir_fd, const std::string& path) {
  const UniqueFd fd(::openat(dir_fd, path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno("open " + path));
  std::string text;
  char part[4096];
  while (text.size() < 65536) {
    const ssize_t got = ::read(fd.get(), part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(Error::from_errno("read " + path));
    if (got == 0) break;
    text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

Result<> write_control(int dir_fd, const std::string& path, std::string_view text) {
  const UniqueFd fd(::openat(dir_fd, path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return fail(Error::from_errno("open " + path));
  ssize_t put = -1;
  do {
    put = ::write(fd.get(), text.data(), text.size());
  } while (put < 0 && errno == EINTR);
  if (put != static_cast<ssize_t>(text.size())) return fail(Error::from_errno("write " + path));
  return {};
}

bool is_readable(int fd) {
  pollfd event{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&event, 1, 0) == 1;
}

}  // namespace glovebox::sys
