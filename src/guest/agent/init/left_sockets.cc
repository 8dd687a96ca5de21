#include "guest/agent/init/left_sockets.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace glovebox::agent {

Result<LeftSockets> LeftSockets::open() {
  UniqueFd counts(::open("/proc/net/sockstat", O_RDONLY | O_CLOEXEC));
  if (!counts) return fail(Error::from_errno("open /proc/net/sockstat"));
  LeftSockets sockets(std::move(counts));
  // That the file has the form which is read below.
  TRY_OK(sockets.expect_none());
  return sockets;
}

Result<> LeftSockets::expect_none() const {
  constexpr std::string_view kNone = "sockets: used 0\n";
  std::array<char, 64> text{};
  const ssize_t size = ::pread(counts_.get(), text.data(), text.size(), 0);
  if (size < 0) return fail(Error::from_errno("read /proc/net/sockstat"));
  const std::string_view said(text.data(), static_cast<std::size_t>(size));
  if (said.starts_with(kNone)) return {};
  return fail(Errc::kInternal,
              "the guest's sockets are not gone: " + std::string(said.substr(0, said.find('\n'))));
}

}  // namespace glovebox::agent
