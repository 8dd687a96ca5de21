#include "node/sandboxes/guest_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace glovebox::node {
namespace {

// Pipes know RWF_NOWAIT since Linux 6.4. Before that the flag of the file has to do, and a look
// whether there is something.
bool is_ready(int fd, short events) {
  pollfd event{fd, events, 0};
  if (::poll(&event, 1, 0) == 1) return true;
  errno = EAGAIN;
  return false;
}

}  // namespace

Result<> check_is_pipe(int fd) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return fail(Error::from_errno("check the program's stream"));
  if (!S_ISFIFO(info.st_mode)) {
    return fail(Errc::kProtocol, "expected a pipe from the sandbox's agent");
  }
  // Writers must not block; see write_now() for the case that the guest clears the flag.
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) != 0) {
    return fail(Error::from_errno("set up the program's stream"));
  }
  return {};
}

ssize_t read_now(int fd, std::span<char> into) {
  iovec part{into.data(), into.size()};
  ssize_t got = -1;
  do {
    got = ::preadv2(fd, &part, 1, -1, RWF_NOWAIT);
    if (got < 0 && errno == EOPNOTSUPP) {
      got = is_ready(fd, POLLIN) ? ::read(fd, into.data(), into.size()) : -1;
    }
  } while (got < 0 && errno == EINTR);
  return got;
}

ssize_t write_now(int fd, std::string_view bytes) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  ssize_t put = -1;
  do {
    put = ::pwritev2(fd, &part, 1, -1, RWF_NOWAIT);
    if (put < 0 && errno == EOPNOTSUPP) {
      put = is_ready(fd, POLLOUT) ? ::write(fd, bytes.data(), bytes.size()) : -1;
    }
  } while (put < 0 && errno == EINTR);
  return put;
}

}  // namespace glovebox::node
