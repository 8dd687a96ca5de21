// One client's socket: its requests are answered in their order. A client that does not read its
// answers is not read from either; news (NetworkDecided) are left out then.
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

class ClientLink : public std::enable_shared_from_this<ClientLink> {
 public:
  static constexpr std::size_t kMaxUnsent = 256;  // news beyond this are left out

  // `closed` is called once, when the client has gone or broke the protocol; not by close().
  static std::shared_ptr<ClientLink> start(asio::io_context& io, UniqueFd socket, Gateway& gateway,
                                           std::function<void()> closed);
  void tell(const wire::NetworkDecided& news);
  void close();

 private:
  using Socket = asio::posix::stream_descriptor;
  ClientLink(asio::io_context& io, UniqueFd socket, Gateway& gateway, std::function<void()> closed);
  static asio::awaitable<void> serve(std::shared_ptr<ClientLink> self);
  static asio::awaitable<void> send_rest(std::shared_ptr<ClientLink> self);
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
