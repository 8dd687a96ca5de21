#include "gateway/client_connection.h"

#include <fcntl.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "base/fd_message.h"
#include "base/log.h"

namespace glovebox::gateway {
namespace {

constexpr std::size_t kMaxUnanswered = 64;  // replies that wait to be read
constexpr std::size_t kDescriptors = 3;

}  // namespace

std::shared_ptr<ClientConnection> ClientConnection::start(asio::io_context& io, UniqueFd socket,
                                                          Gateway& gateway,
                                                          std::function<void()> closed) {
  ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  std::shared_ptr<ClientConnection> link(
      new ClientConnection(io, std::move(socket), gateway, std::move(closed)));
  asio::co_spawn(io, serve(link), asio::detached);
  return link;
}

ClientConnection::ClientConnection(asio::io_context& io, UniqueFd socket, Gateway& gateway,
                                   std::function<void()> closed)
    : io_(io), socket_(io, socket.release()), gateway_(gateway), closed_(std::move(closed)) {}

void ClientConnection::close() {
  closed_ = nullptr;
  boost::system::error_code error;
  socket_.close(error);
}

void ClientConnection::gone() {
  const auto closed = std::exchange(closed_, nullptr);
  close();
  if (closed) closed();
}

asio::awaitable<void> ClientConnection::serve(std::shared_ptr<ClientConnection> self) {
  while (true) {
    if (self->unsent_.size() > kMaxUnanswered) {
      const auto [ec] = co_await self->socket_.async_wait(Socket::wait_write, kAwaitTuple);
      if (ec || !self->send_some()) break;
      continue;
    }
    const auto [ec] = co_await self->socket_.async_wait(Socket::wait_read, kAwaitTuple);
    if (ec || !self->socket_.is_open() || !self->answer_one()) break;
  }
  self->gone();
}

// False: the connection has ended.
bool ClientConnection::answer_one() {
  auto message = receive_message(socket_.native_handle(), wire::kMaxGatewayMessage, kDescriptors);
  if (!message && message.error().code() == Errc::kResourceExhausted) return true;
  if (message && message->bytes.empty()) return false;
  auto request = message ? wire::decode_gateway_request(message->bytes)
                         : Result<wire::GatewayRequest>(fail(std::move(message.error())));
  if (!request) {
    log::warn("a client of the gateway sent a malformed request; its connection is closed",
              {{"error", request.error().message()}});
    return false;
  }
  send(wire::encode(gateway_.answer(std::move(*request), std::move(message->fds))));
  return socket_.is_open();
}

void ClientConnection::notify(const wire::NetworkDecided& decided) {
  if (unsent_.size() < kMaxUnsent) send(wire::encode(wire::GatewayReply(decided)));
}

void ClientConnection::send(std::vector<std::byte> bytes) {
  if (!socket_.is_open()) return;
  unsent_.push_back(std::move(bytes));
  if (is_sending_ || !send_some() || unsent_.empty()) return;
  is_sending_ = true;
  asio::co_spawn(io_, send_rest(shared_from_this()), asio::detached);
}

asio::awaitable<void> ClientConnection::send_rest(std::shared_ptr<ClientConnection> self) {
  while (!self->unsent_.empty()) {
    const auto [ec] = co_await self->socket_.async_wait(Socket::wait_write, kAwaitTuple);
    if (ec || !self->socket_.is_open() || !self->send_some()) break;
  }
  self->is_sending_ = false;
}

// False: the client has gone. What its socket does not take stays queued.
bool ClientConnection::send_some() {
  while (!unsent_.empty()) {
    const auto sent = send_message(socket_.native_handle(), unsent_.front());
    if (!sent && sent.error().code() == Errc::kResourceExhausted) return true;
    if (!sent) {
      unsent_.clear();
      return false;
    }
    unsent_.pop_front();
  }
  return true;
}

}  // namespace glovebox::gateway
