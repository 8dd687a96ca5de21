// TCP connections over this host's loopback, for tests, and running an event loop until something
// holds.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>

#include "base/unique_fd.h"

namespace glovebox::gateway::testing {

struct Connection {
  UniqueFd client;
  UniqueFd server;
};

// Both ends non-blocking; without descriptors if loopback does not work.
inline Connection connect_pair() {
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return {};
  }
  Connection connection;
  connection.client.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(connection.client.get(), reinterpret_cast<sockaddr*>(&address), size) != 0) {
    return {};
  }
  connection.server.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  for (const UniqueFd* fd : {&connection.client, &connection.server}) {
    ::fcntl(fd->get(), F_SETFL, O_NONBLOCK);
    const int on = 1;
    ::setsockopt(fd->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  return connection;
}

// False if it does not come to hold in time.
inline bool run_until(boost::asio::io_context& io, const std::function<bool()>& holds,
                      std::chrono::milliseconds limit = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    io.restart();
    io.run_one_for(std::chrono::milliseconds(2));
  }
  return true;
}

// What a socket has for its reader, and how it ended.
class Reader {
 public:
  explicit Reader(int socket) : socket_(socket) {}
  // Reads all that is there.
  void read() {
    char bytes[64 * 1024];
    while (!ended && error == 0) {
      const ssize_t size = ::recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT);
      if (size > 0) text.append(bytes, static_cast<std::size_t>(size));
      if (size == 0) ended = true;
      if (size < 0 && errno == EAGAIN) return;
      if (size < 0) error = errno;
    }
  }
  bool has(const std::string& wanted) {
    read();
    return text == wanted;
  }
  bool has_ended() {
    read();
    return ended;
  }
  bool was_reset() {
    read();
    return error == ECONNRESET;
  }
  bool is_over() {
    read();
    return ended || error != 0;
  }

  std::string text;
  bool ended = false;
  int error = 0;

 private:
  int socket_;
};

inline void send_text(const UniqueFd& socket, const std::string& text) {
  (void)!::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
}

// As close() of a program that does not want to hear any more.
inline void reset_now(UniqueFd& socket) {
  const linger now{1, 0};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  socket.reset();
}

}  // namespace glovebox::gateway::testing
