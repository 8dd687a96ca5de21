#include "http/client/client_socket.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "http/socket_address.h"

namespace glovebox::http {

Result<std::unique_ptr<ClientSocket>> ClientSocket::connect(const Url& url,
                                                            const ClientOptions& options,
                                                            std::shared_ptr<const TlsContext> tls,
                                                            int interrupt) {
  const auto doing = [&] { return "connect to " + url.authority(); };
  TRY(const SocketAddress address, SocketAddress::make(url.host, url.port));
  UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fail(Error::from_errno("socket"));
  const int on = 1;
  ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  std::unique_ptr<ClientSocket> made(new ClientSocket(std::move(fd), interrupt, options.io_time));
  if (::connect(made->fd_.get(), address.get(), address.size()) != 0) {
    if (errno != EINPROGRESS) return fail(Error::from_errno(doing()));
    Result<short> ready = made->wait(POLLOUT, options.connect_time);
    if (!ready) return fail(std::move(ready.error()).context(doing()));
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(made->fd_.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(Error::from_errno(doing(), error));
  }
  if (url.tls) {
    made->tls_ = std::make_unique<TlsSession>(std::move(tls), made->fd_.get(), url.host);
    Result<> handshake = made->complete_tls_handshake(options.connect_time);
    if (!handshake) return fail(std::move(handshake.error()).context(doing()));
  }
  return made;
}

ClientSocket::~ClientSocket() {
  if (tls_) tls_->shutdown();
}

Result<short> ClientSocket::wait(short events, std::chrono::milliseconds time) {
  pollfd waits[] = {{.fd = fd_.get(), .events = events, .revents = 0},
                    {.fd = interrupt_, .events = POLLIN, .revents = 0}};
  const int limit = time.count() == 0 ? -1 : static_cast<int>(time.count());
  for (;;) {
    const int ready = ::poll(waits, 2, limit);
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return fail(Error::from_errno("poll"));
    if (waits[1].revents != 0) return fail(Errc::kUnavailable, "interrupted");
    if (ready == 0) return fail(Errc::kTimeout, "the server did not answer in time");
    return waits[0].revents;
  }
}

Result<short> ClientSocket::wait_for(short events, std::optional<std::chrono::milliseconds> time) {
  pollfd waits[] = {{.fd = fd_.get(), .events = events, .revents = 0},
                    {.fd = interrupt_, .events = POLLIN, .revents = 0}};
  const int ready = ::poll(waits, 2, time ? static_cast<int>(time->count()) : -1);
  // A signal ends the wait as if the deadline had passed, so that the caller checks why.
  if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  if (ready <= 0) return short{0};
  if (waits[1].revents != 0) return fail(Errc::kUnavailable, "interrupted");
  return waits[0].revents;
}

Io ClientSocket::try_read(char* into, std::size_t size, std::size_t& got) {
  if (tls_) return tls_->read(into, size, got);
  const ssize_t result = ::recv(fd_.get(), into, size, 0);
  if (result < 0) return errno == EAGAIN || errno == EINTR ? Io::kWantRead : Io::kFailed;
  got = static_cast<std::size_t>(result);
  return result == 0 ? Io::kEnded : Io::kDone;
}

Io ClientSocket::try_write(std::string_view bytes, std::size_t& put) {
  if (tls_) return tls_->write(bytes.data(), bytes.size(), put);
  const ssize_t result = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (result < 0) return errno == EAGAIN || errno == EINTR ? Io::kWantWrite : Io::kFailed;
  put = static_cast<std::size_t>(result);
  return Io::kDone;
}

Result<> ClientSocket::complete_tls_handshake(std::chrono::milliseconds time) {
  for (;;) {
    const Io io = tls_->handshake();
    if (io == Io::kDone) return {};
    if (io != Io::kWantRead && io != Io::kWantWrite) {
      return fail(Errc::kUnavailable, "TLS: " + tls_->last_error());
    }
    TRY_OK(wait(io == Io::kWantRead ? POLLIN : POLLOUT, time));
  }
}

Result<std::size_t> ClientSocket::read(char* into, std::size_t size) {
  // Waiting first: an answer is never there already, except inside a TLS record.
  if (!tls_) TRY_OK(wait(POLLIN, io_time_));
  for (;;) {
    std::size_t got = 0;
    if (tls_) {
      const Io io = tls_->read(into, size, got);
      if (io == Io::kDone) return got;
      if (io == Io::kEnded) return std::size_t{0};
      if (io == Io::kFailed) return fail(Errc::kUnavailable, "TLS: " + tls_->last_error());
      TRY_OK(wait(io == Io::kWantRead ? POLLIN : POLLOUT, io_time_));
      continue;
    }
    const ssize_t result = ::recv(fd_.get(), into, size, 0);
    if (result >= 0) return static_cast<std::size_t>(result);
    if (errno != EINTR && errno != EAGAIN) return fail(Error::from_errno("receive"));
    if (errno == EAGAIN) TRY_OK(wait(POLLIN, io_time_));
  }
}

Result<bool> ClientSocket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    std::size_t put = 0;
    if (tls_) {
      const Io io = tls_->write(bytes.data(), bytes.size(), put);
      if (io == Io::kEnded || io == Io::kFailed) return false;
      if (io != Io::kDone) {
        TRY_OK(wait(io == Io::kWantRead ? POLLIN : POLLOUT, io_time_));
        continue;
      }
    } else {
      const ssize_t result = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (result < 0 && errno == EINTR) continue;
      if (result < 0 && (errno == EPIPE || errno == ECONNRESET)) return false;
      if (result < 0 && errno == EAGAIN) {
        TRY(const short ready, wait(POLLIN | POLLOUT, io_time_));
        if ((ready & POLLIN) != 0) return false;  // answered before the end: a refusal
        continue;
      }
      if (result < 0) return fail(Error::from_errno("send"));
      put = static_cast<std::size_t>(result);
    }
    bytes.remove_prefix(put);
  }
  return true;
}

bool ClientSocket::is_stale() const {
  pollfd state{.fd = fd_.get(), .events = POLLIN | POLLRDHUP, .revents = 0};
  const bool has_news = ::poll(&state, 1, 0) > 0;
  if (!has_news) return false;
  if (!tls_ || (state.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return true;
  // Tickets of TLS 1.3 arrive after the handshake and are no reason to go.
  const Io io = tls_->peek();
  return io != Io::kWantRead && io != Io::kWantWrite;
}

}  // namespace glovebox::http
