#include "http/transport.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <string>

#include "http/socket_address.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kMaxParts = 4;
// What TLS sends in one record, and so what is worth joining.
constexpr std::size_t kRecordBytes = 16 << 10;

Io io_of_errno(Io would_block) {
  if (errno == EAGAIN || errno == EWOULDBLOCK) return would_block;
  return Io::kFailed;
}

bool all_sent(std::span<const std::string_view> parts) {
  return std::all_of(parts.begin(), parts.end(),
                     [](std::string_view part) { return part.empty(); });
}

void take(std::span<std::string_view> parts, std::size_t count) {
  for (std::string_view& part : parts) {
    const std::size_t taken = std::min(count, part.size());
    part.remove_prefix(taken);
    count -= taken;
  }
}

}  // namespace

Transport::Transport(asio::io_context& context, UniqueFd fd, std::shared_ptr<const TlsContext> tls)
    : descriptor_(context, fd.release()) {
  if (tls) tls_ = std::make_unique<TlsSession>(std::move(tls), descriptor_.native_handle());
}

Io Transport::read(char* into, std::size_t size, std::size_t& got) {
  if (tls_) return tls_->read(into, size, got);
  for (;;) {
    const ssize_t result = ::recv(descriptor_.native_handle(), into, size, 0);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return io_of_errno(Io::kWantRead);
    got = static_cast<std::size_t>(result);
    return result == 0 ? Io::kEnded : Io::kDone;
  }
}

Io Transport::write(std::span<std::string_view> parts) {
  return tls_ ? write_tls(parts) : write_plain(parts);
}

Io Transport::write_plain(std::span<std::string_view> parts) {
  while (!all_sent(parts)) {
    iovec pieces[kMaxParts];
    std::size_t count = 0;
    for (const std::string_view part : parts) {
      if (part.empty() || count == kMaxParts) continue;
      pieces[count].iov_base = const_cast<char*>(part.data());
      pieces[count++].iov_len = part.size();
    }
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t sent = ::sendmsg(descriptor_.native_handle(), &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return io_of_errno(Io::kWantWrite);
    take(parts, static_cast<std::size_t>(sent));
  }
  return Io::kDone;
}

Io Transport::write_tls(std::span<std::string_view> parts) {
  std::string joined;
  while (!all_sent(parts)) {
    // A small answer leaves as one record, header and body together. After kWantWrite the same
    // bytes are tried again, as OpenSSL demands: the parts have not moved.
    joined.clear();
    std::string_view piece;
    for (const std::string_view part : parts) {
      if (part.empty()) continue;
      if (joined.empty() && part.size() >= kRecordBytes) {
        piece = part.substr(0, kRecordBytes);
        break;
      }
      joined += part.substr(0, kRecordBytes - joined.size());
      piece = joined;
      if (joined.size() == kRecordBytes) break;
    }
    std::size_t put = 0;
    const Io io = tls_->write(piece.data(), piece.size(), put);
    if (io != Io::kDone) return io == Io::kEnded ? Io::kFailed : io;
    take(parts, put);
  }
  return Io::kDone;
}

asio::awaitable<bool> Transport::wait(Io wanted) {
  if (!descriptor_.is_open()) co_return false;
  const auto kind = wanted == Io::kWantWrite ? asio::posix::stream_descriptor::wait_write
                                             : asio::posix::stream_descriptor::wait_read;
  const auto [error] = co_await descriptor_.async_wait(kind, kAwaitTuple);
  co_return !error && descriptor_.is_open();
}

void Transport::cancel() {
  boost::system::error_code ignored;
  descriptor_.cancel(ignored);
}

std::string Transport::local_address() {
  SocketAddress address;
  const int fd = descriptor_.native_handle();
  if (::getsockname(fd, address.get(), address.size_slot()) != 0) return {};
  return address.str();
}

Peer Transport::peer() {
  const int fd = descriptor_.native_handle();
  pollfd state{.fd = fd, .events = POLLIN | POLLRDHUP, .revents = 0};
  if (::poll(&state, 1, 0) < 0) return Peer::kQuiet;
  // RDHUP is seen even behind bytes that were not read yet.
  if ((state.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) return Peer::kGone;
  if ((state.revents & POLLIN) == 0) return Peer::kQuiet;
  if (!tls_) return Peer::kBytesWaiting;
  // Records that are not the application's (close_notify, tickets) are dealt with by looking.
  switch (tls_->peek()) {
    case Io::kDone:
      return Peer::kBytesWaiting;
    case Io::kWantRead:
    case Io::kWantWrite:
      return Peer::kQuiet;
    default:
      return Peer::kGone;
  }
}

void Transport::end_writing() {
  if (!descriptor_.is_open()) return;
  if (tls_) tls_->shutdown();
  ::shutdown(descriptor_.native_handle(), SHUT_WR);
}

void Transport::close() {
  if (!descriptor_.is_open()) return;
  if (tls_) tls_->shutdown();
  boost::system::error_code ignored;
  descriptor_.close(ignored);
}

}  // namespace glovebox::http
