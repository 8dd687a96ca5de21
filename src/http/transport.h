// The bytes of one connection: a non-blocking socket, with TLS or without. Steps that cannot go on
// say what they wait for; waiting is an await on the descriptor, so that an idle connection holds
// no buffer at all.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/task.h"
#include "base/unique_fd.h"
#include "http/tls.h"

namespace glovebox::http {

enum class Peer : std::uint8_t { kQuiet, kBytesWaiting, kGone };

class Transport {
 public:
  Transport(asio::io_context& context, UniqueFd fd, std::shared_ptr<const TlsContext> tls);

  bool is_tls() const { return tls_ != nullptr; }
  bool is_open() const { return descriptor_.is_open(); }
  asio::posix::stream_descriptor& descriptor() { return descriptor_; }

  Io handshake() { return tls_->handshake(); }
  Io read(char* into, std::size_t size, std::size_t& got);
  // Sends what the kernel takes of `parts`, and shortens them by that.
  Io write(std::span<std::string_view> parts);

  // Waits as the step asked. False: cancelled, or the descriptor is closed.
  asio::awaitable<bool> wait(Io wanted);
  void cancel();

  std::string local_address();  // "192.0.2.7:7070"; empty when the kernel does not say

  // Looks without taking a byte of the application's.
  Peer peer();
  // Bytes may be here already, without a further event of the descriptor.
  bool has_pending() const { return tls_ != nullptr && tls_->has_pending(); }

  void end_writing();  // close_notify and FIN; reading goes on
  void close();

 private:
  Io write_plain(std::span<std::string_view> parts);
  Io write_tls(std::span<std::string_view> parts);

  asio::posix::stream_descriptor descriptor_;
  std::unique_ptr<TlsSession> tls_;
};

}  // namespace glovebox::http
