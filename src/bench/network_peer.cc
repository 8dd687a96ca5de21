#include "bench/network_peer.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

namespace glovebox::bench {
namespace {

constexpr int kBacklog = 1024;
constexpr std::size_t kStreamPiece = 1u << 20;
constexpr std::uint64_t kMostSourceBytes = 1ull << 32;  // the most that a connection can request
constexpr std::size_t kMostStreams = 16;

bool watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

bool send_all(int socket, const char* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t put = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (put <= 0) return false;
    bytes += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

void swallow(int socket) {
  std::vector<char> piece(kStreamPiece);
  std::uint64_t got = 0;
  ssize_t size = 0;
  while ((size = ::recv(socket, piece.data(), piece.size(), 0)) > 0) {
    got += static_cast<std::uint64_t>(size);
  }
  char count[8];
  for (int i = 0; i < 8; ++i) count[i] = static_cast<char>(got >> (8 * i) & 0xff);
  if (size == 0) (void)send_all(socket, count, sizeof count);
}

void pour(int socket) {
  unsigned char count[8];
  if (::recv(socket, count, sizeof count, MSG_WAITALL) != sizeof count) return;
  std::uint64_t left = 0;
  for (int i = 0; i < 8; ++i) left |= static_cast<std::uint64_t>(count[i]) << (8 * i);
  left = std::min(left, kMostSourceBytes);
  const std::vector<char> piece(kStreamPiece);
  while (left > 0) {
    const std::size_t size = std::min<std::uint64_t>(left, piece.size());
    if (!send_all(socket, piece.data(), size)) return;
    left -= size;
  }
}

std::optional<net::IpAddress> address_at(int socket, decltype(::getpeername)* which) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (which(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return std::nullopt;
  return net::IpAddress::from(address);
}

}  // namespace

Result<UniqueFd> listen_on(const net::IpAddress& address, std::uint16_t port) {
  const sockaddr_storage at = address.to_sockaddr(port);
  UniqueFd socket(::socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return fail(Error::from_errno("socket"));
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&at),
             net::IpAddress::sockaddr_size(at)) != 0 ||
      ::listen(socket.get(), kBacklog) != 0) {
    return fail(Error::from_errno("listen on " + address.text() +
                                  (port != 0 ? " port " + std::to_string(port) : "")));
  }
  return socket;
}

std::uint16_t port_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

bool is_from_here(int connection) {
  const auto theirs = address_at(connection, ::getpeername);
  return theirs && theirs == address_at(connection, ::getsockname);
}

Result<std::unique_ptr<NetworkPeer>> NetworkPeer::listen(const net::IpAddress& address) {
  TRY(UniqueFd listener, listen_on(address));
  UniqueFd events(::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC));
  if (!events || !wake || !watch(events.get(), listener.get()) ||
      !watch(events.get(), wake.get())) {
    return fail(Error::from_errno("epoll"));
  }
  return std::unique_ptr<NetworkPeer>(
      new NetworkPeer(address, std::move(listener), std::move(events), std::move(wake)));
}

NetworkPeer::NetworkPeer(const net::IpAddress& address, UniqueFd listener, UniqueFd events,
                         UniqueFd wake)
    : address_(address),
      port_(port_of(listener.get())),
      listener_(std::move(listener)),
      events_(std::move(events)),
      wake_(std::move(wake)),
      thread_([this] { serve(); }) {}

NetworkPeer::~NetworkPeer() {
  const std::uint64_t one = 1;
  (void)!::write(wake_.get(), &one, sizeof one);
  thread_.join();
  for (Stream& stream : streams_) ::shutdown(stream.socket.get(), SHUT_RDWR);
  for (Stream& stream : streams_) stream.thread.join();
}

void NetworkPeer::serve() {
  epoll_event ready[64];
  for (;;) {
    const int count = ::epoll_wait(events_.get(), ready, 64, -1);
    for (int i = 0; i < count; ++i) {
      const int fd = ready[i].data.fd;
      if (fd == wake_.get()) return;
      if (fd == listener_.get()) {
        accept_all();
      } else {
        serve_one(fd);
      }
    }
  }
}

void NetworkPeer::accept_all() {
  for (;;) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return;
    if (!is_from_here(socket.get())) continue;
    const int yes = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    const int fd = socket.get();
    if (watch(events_.get(), fd)) connections_[fd].socket = std::move(socket);
  }
}

void NetworkPeer::serve_one(int socket) {
  Connection& one = connections_[socket];
  char bytes[4096];
  // Reads only the first byte: the rest may belong to a stream.
  const ssize_t got = ::recv(socket, bytes, one.is_echo ? sizeof bytes : 1, 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return forget(socket);
  if (one.is_echo) {
    // Echo clients wait for every byte; one that sends more than fits is not part of the benchmark.
    if (!send_all(socket, bytes, static_cast<std::size_t>(got))) forget(socket);
  } else if (bytes[0] == kEcho) {
    one.is_echo = true;
    ++echoing_;
  } else if (bytes[0] == kSink || bytes[0] == kSource) {
    begin_stream(socket, bytes[0]);
  } else {
    forget(socket);
  }
}

void NetworkPeer::begin_stream(int socket, char what) {
  for (auto one = streams_.begin(); one != streams_.end();) {
    if (one->ended) {
      one->thread.join();
      one = streams_.erase(one);
    } else {
      ++one;
    }
  }
  if (streams_.size() >= kMostStreams) return forget(socket);
  ::epoll_ctl(events_.get(), EPOLL_CTL_DEL, socket, nullptr);
  ::fcntl(socket, F_SETFL, 0);  // blocking from now on
  Stream& stream = streams_.emplace_back();
  stream.socket = std::move(connections_[socket].socket);
  connections_.erase(socket);
  stream.thread = std::thread([&stream, what] {
    what == kSink ? swallow(stream.socket.get()) : pour(stream.socket.get());
    ::shutdown(stream.socket.get(), SHUT_RDWR);
    stream.ended = true;
  });
}

void NetworkPeer::forget(int socket) {
  if (connections_[socket].is_echo) --echoing_;
  connections_.erase(socket);
}

}  // namespace glovebox::bench
