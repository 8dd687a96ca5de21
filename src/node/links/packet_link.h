// One connected SEQPACKET socket to another program of ours: messages with descriptors go out in
// order and come in one by one, without ever blocking. Its owner is notified once when the other
// side is gone or breaks the protocol. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/fd_message.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::node {

class PacketLink : public std::enable_shared_from_this<PacketLink> {
 public:
  struct Bounds {
    std::size_t message_bytes = 0;
    std::size_t message_fds = 0;
    std::size_t queued = 0;  // messages that wait to be sent
  };
  // An error ends the link.
  using OnMessage = std::function<Result<>(Received message)>;
  using OnGone = std::function<void(const std::string& why)>;

  // Neither is called after close(), and none from within send().
  static std::shared_ptr<PacketLink> start(boost::asio::io_context& io, UniqueFd socket,
                                           Bounds bounds, OnMessage on_message, OnGone on_gone);

  // Beyond the bound the other side does not read, and is as good as gone: on_gone says so later.
  void send(std::vector<std::byte> bytes, std::vector<UniqueFd> fds = {});
  // on_gone is called later, unless close() is called first.
  void give_up(std::string why);
  void close();
  bool closed() const { return closed_; }

 private:
  struct Outgoing {
    std::vector<std::byte> bytes;
    std::vector<UniqueFd> fds;
  };
  PacketLink(boost::asio::io_context& io, UniqueFd socket, Bounds bounds, OnMessage on_message,
             OnGone on_gone);
  void flush();
  void wait_readable();
  void wait_writable();
  void read_some();
  Result<bool> read_one();  // false: nothing there

  boost::asio::io_context& io_;
  boost::asio::posix::stream_descriptor descriptor_;
  const Bounds bounds_;
  const OnMessage on_message_;
  const OnGone on_gone_;
  std::deque<Outgoing> queue_;
  bool write_armed_ = false;
  bool closed_ = false;
};

}  // namespace glovebox::node
