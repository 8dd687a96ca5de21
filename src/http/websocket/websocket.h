// A WebSocket, the server's end: whole messages over the stream of an upgraded connection. Answers
// pings, sends its own to notice dead clients, and does the closing handshake. No extensions.
//
//   asio::awaitable<void> echo(Request& request, RawStream& stream) {
//     const std::unique_ptr<WebSocket> socket = co_await accept_websocket(request, stream);
//     if (!socket) co_return;  // answered already
//     while (const auto message = co_await socket->receive()) ...
//   }
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "http/message.h"
#include "http/websocket/websocket_frames.h"

namespace glovebox::http {

struct WebSocketOptions {
  std::size_t max_message = std::size_t{1} << 20;
  std::chrono::milliseconds ping_interval{20'000};  // and how long its answer may take
  std::chrono::milliseconds close_time{5'000};      // for the other side's Close
};

// One coroutine may receive while others send; all must have ended before this goes. A call ends
// when the client goes, when it is silent for too long, and when the server stops.
class WebSocket {
 public:
  using Message = WebSocketMessage;
  virtual ~WebSocket() = default;

  // Nothing: closed, by either side.
  virtual asio::awaitable<std::optional<Message>> receive() = 0;
  // Each waits until the kernel has taken the bytes, so a slow client slows the sender. False:
  // closed, stop. The view's bytes stay the caller's until it returns.
  virtual asio::awaitable<bool> send_text(std::string text) = 0;
  virtual asio::awaitable<bool> send_binary(std::string bytes) = 0;
  virtual asio::awaitable<bool> send_view(Opcode opcode, std::string_view bytes) = 0;
  // Says Close and waits for the other side's, for a while; a receive under way then ends.
  virtual asio::awaitable<void> close(std::uint16_t code = close_code::kNormal,
                                      std::string reason = {}) = 0;
  virtual bool is_open() const = 0;
  // What the client closed with; kBroken when it just went.
  virtual std::uint16_t close_code() const = 0;
};

// Null: it was no WebSocket's request, and has been answered (400, 426).
asio::awaitable<std::unique_ptr<WebSocket>> accept_websocket(Request& request, RawStream& stream);
asio::awaitable<std::unique_ptr<WebSocket>> accept_websocket(Request& request, RawStream& stream,
                                                             WebSocketOptions options);

// The answer of an upgrade handler that will not: the connection closes behind it.
asio::awaitable<void> refuse_upgrade(Request& request, RawStream& stream, Response response);

}  // namespace glovebox::http
