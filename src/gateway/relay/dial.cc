#include "gateway/relay/dial.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>

namespace glovebox::gateway {

using Socket = asio::posix::stream_descriptor;

Task<UniqueFd> dial(std::shared_ptr<Socket> dialling, net::IpAddress address, std::uint16_t port,
                    std::size_t receive_bytes, std::chrono::steady_clock::time_point deadline) {
  const sockaddr_storage where = address.to_sockaddr(port);
  UniqueFd fd(::socket(where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) co_return fail(Error::from_errno("socket"));
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  // Before any data arrives: urgent data stays in the stream.
  ::setsockopt(fd.get(), SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
  if (receive_bytes != 0) {
    // Before connect(): a window that was advertised cannot be taken back.
    const int size = static_cast<int>(receive_bytes);
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
  }
  const int done = ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&where),
                             net::IpAddress::sockaddr_size(where));
  if (done == 0) co_return fd;
  if (errno != EINPROGRESS) co_return fail(Error::from_errno("connect"));
  boost::system::error_code unusable;
  dialling->assign(fd.get(), unusable);
  if (unusable)
    co_return fail(Errc::kResourceExhausted, "the socket cannot be polled: out of resources");
  (void)fd.release();

  asio::steady_timer timer(dialling->get_executor(), deadline);
  timer.async_wait([dialling](const boost::system::error_code& error) {
    if (!error && dialling->is_open()) dialling->cancel();
  });
  const auto [ec] = co_await dialling->async_wait(Socket::wait_write, kAwaitTuple);
  timer.cancel();
  if (!dialling->is_open()) co_return fail(Errc::kUnavailable, "cancelled");
  if (ec) co_return fail(Error::from_errno("connect", ETIMEDOUT));
  fd.reset(dialling->release());
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error != 0) co_return fail(Error::from_errno("connect", error));
  co_return fd;
}

}  // namespace glovebox::gateway
