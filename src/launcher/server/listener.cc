#include "launcher/server/listener.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

namespace glovebox::launcher {

Result<UniqueFd> listen_at(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalidArgument, "the socket's path is too long");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  const auto* name = reinterpret_cast<const sockaddr*>(&address);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  const UniqueFd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (::connect(probe.get(), name, sizeof address) == 0) {
    return fail(Errc::kUnavailable, "another launcher listens at " + path);
  }
  if (errno == ECONNREFUSED) ::unlink(path.c_str());  // a dead one's
  const mode_t old_mask = ::umask(0177);
  const bool bound = ::bind(socket.get(), name, sizeof address) == 0;
  const int error = errno;
  ::umask(old_mask);
  if (!bound) return fail(Error::from_errno("listen at " + path, error));
  if (::listen(socket.get(), 128) != 0) return fail(Error::from_errno("listen at " + path));
  return socket;
}

}  // namespace glovebox::launcher
