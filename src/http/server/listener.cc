#include "http/server/listener.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "http/socket_address.h"

namespace glovebox::http {

namespace {

constexpr int kBacklog = 4096;

Result<UniqueFd> listen_on(const SocketAddress& address, bool also_ipv4) {
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(Error::from_errno("socket"));
  const int on = 1;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.family() == AF_INET6) {
    const int only = also_ipv4 ? 0 : 1;
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
  }
  if (::bind(fd.get(), address.get(), address.size()) != 0) return fail(Error::from_errno("bind"));
  if (::listen(fd.get(), kBacklog) != 0) return fail(Error::from_errno("listen"));
  return fd;
}

Result<UniqueFd> open_socket(std::string_view text) {
  if (!text.starts_with(':')) {
    TRY(const SocketAddress address, SocketAddress::parse(text));
    return listen_on(address, false);
  }
  // Every address: one IPv6 socket that takes IPv4 too, or IPv4 alone where there is no IPv6.
  TRY(const SocketAddress both, SocketAddress::parse("[::]" + std::string(text)));
  Result<UniqueFd> fd = listen_on(both, true);
  if (fd || fd.error().sys_errno() != EAFNOSUPPORT) return fd;
  TRY(const SocketAddress four, SocketAddress::parse("0.0.0.0" + std::string(text)));
  return listen_on(four, false);
}

}  // namespace

Result<Listener> open_listener(std::string_view address) {
  Result<UniqueFd> fd = open_socket(address);
  if (!fd) return fail(std::move(fd.error()).context("listen on " + std::string(address)));
  SocketAddress actual;
  if (::getsockname(fd->get(), actual.get(), actual.size_slot()) != 0) {
    return fail(Error::from_errno("getsockname"));
  }
  Listener listener;
  listener.fd = std::move(*fd);
  listener.address = actual.str();
  listener.host = actual.host();
  listener.port = actual.port();
  listener.is_loopback = actual.is_loopback();
  return listener;
}

}  // namespace glovebox::http
