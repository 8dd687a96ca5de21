#include "base/write_all.h"

#include <unistd.h>

namespace glovebox {

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail(Error::from_errno("write"));
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return {};
}

}  // namespace glovebox
