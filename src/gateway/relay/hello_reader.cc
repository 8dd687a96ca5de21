#include "gateway/relay/hello_reader.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <span>

namespace glovebox::gateway {
namespace {

using Clock = std::chrono::steady_clock;

// A normal client sends it in one to four segments. Each check parses all of it, so after these it
// is checked less and less often: some twenty times in ten seconds.
constexpr int kQuickChecks = 6;
constexpr std::chrono::milliseconds kFirstPause{25};
constexpr std::chrono::milliseconds kLongestPause{800};

// The socket becomes readable only with this many bytes, or at its end (SO_RCVLOWAT).
void want(int socket, std::size_t size) {
  const int least = static_cast<int>(size);
  ::setsockopt(socket, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
}

struct Peek {
  net::HelloResult result;
  std::size_t size = 0;
};

// Nothing: the client has closed or reset the connection before it sent anything.
std::optional<Peek> peek(int socket) {
  static std::array<std::byte, net::kMaxClientHello>
      bytes;  // used by one thread; nothing stays in it
  ssize_t size = -1;
  do {
    size = ::recv(socket, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  } while (size < 0 && errno == EINTR);
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Peek{net::HelloIncomplete{}, 0};
  if (size <= 0) return std::nullopt;
  const auto has = static_cast<std::size_t>(size);
  return Peek{net::read_client_hello(std::span(bytes).first(has)), has};
}

bool has_ended(int socket) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return true;
  return info.tcpi_state != TCP_ESTABLISHED;
}

net::HelloResult refused(const char* why) { return net::HelloRefused{why}; }

}  // namespace

asio::awaitable<net::HelloResult> read_hello(std::shared_ptr<Socket> client,
                                             Clock::time_point deadline) {
  asio::steady_timer timer(client->get_executor());
  auto pause = kFirstPause;
  std::size_t had = 0;
  for (int checks = 0;; ++checks) {
    // Often it has arrived already, so the socket is checked before waiting.
    const std::optional<Peek> peeked = peek(client->native_handle());
    if (!peeked) co_return refused("ended before a ClientHello");
    const auto* incomplete = std::get_if<net::HelloIncomplete>(&peeked->result);
    if (incomplete == nullptr) {
      want(client->native_handle(), 1);
      co_return peeked->result;
    }
    if (peeked->size == had && had > 0 && has_ended(client->native_handle())) {
      co_return refused("ended inside the ClientHello");
    }
    had = peeked->size;
    want(client->native_handle(), std::max(had + 1, incomplete->needs));
    if (Clock::now() >= deadline) co_return refused("no ClientHello in time");
    if (checks >= kQuickChecks) {
      timer.expires_after(pause);
      pause = std::min(pause * 2, kLongestPause);
      co_await timer.async_wait(kAwaitTuple);
      if (!client->is_open()) co_return refused("closed");
    }
    timer.expires_at(deadline);
    timer.async_wait([client](const boost::system::error_code& error) {
      if (!error && client->is_open()) client->cancel();
    });
    const auto [ec] = co_await client->async_wait(Socket::wait_read, kAwaitTuple);
    timer.cancel();
    if (!client->is_open()) co_return refused("closed");
    if (ec) co_return refused("no ClientHello in time");
  }
}

}  // namespace glovebox::gateway
