// The connection to one client of the gateway: its requests are answered in order. While a client
// does not read its replies, its requests are not read, and notifications are dropped.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/task.h"
#include "base/unique_fd.h"
#include "gateway/gateway.h"

namespace glovebox::gateway {

class ClientConnection : public std::enable_shared_from_this<ClientConnection> {
 public:
  static constexpr std::size_t kMaxUnsent = 256;  // notifications beyond this are dropped

  // `closed` is called once when the client has gone or violated the protocol; not by close().
  static std::shared_ptr<ClientConnection> start(asio::io_context& io, UniqueFd socket,
                                                 Gateway& gateway, std::function<void()> closed);
  void notify(const wire::NetworkDecided& decided);
  void close();

 private:
  using Socket = asio::posix::stream_descriptor;
  ClientConnection(asio::io_context& io, UniqueFd socket, Gateway& gateway,
                   std::function<void()> closed);
  static asio::awaitable<void> serve(std::shared_ptr<ClientConnection> self);
  static asio::awaitable<void> send_rest(std::shared_ptr<ClientConnection> self);
  bool answer_one();
  void send(std::vector<std::byte> bytes);
  bool send_some();
  void gone();

  asio::io_context& io_;
  Socket socket_;
  Gateway& gateway_;
  std::function<void()> closed_;
  std::deque<std::vector<std::byte>> unsent_;
  bool is_sending_ = false;
};

}  // namespace glovebox::gateway
