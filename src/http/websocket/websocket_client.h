// A WebSocket, the client's end, for our command line: blocking, over the same sockets, TLS and
// addresses as http::Client. One thread; a caller that waits for other descriptors too polls fd()
// and asks receive() for what is there.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client/client.h"
#include "http/websocket/websocket_frames.h"

namespace glovebox::http {

class WebSocketClient {
 public:
  // `target` as ClientRequest's; `headers` may carry the key. An answer that is not 101 is an
  // error, and is put into `refusal`, if there is one, with its body.
  static Result<std::unique_ptr<WebSocketClient>> connect(const Url& url, std::string target,
                                                          Headers headers, ClientOptions options,
                                                          ClientResponse* refusal = nullptr);
  ~WebSocketClient();
  WebSocketClient(const WebSocketClient&) = delete;
  WebSocketClient& operator=(const WebSocketClient&) = delete;

  struct Received {
    std::optional<WebSocketMessage> message;  // nothing: the time was over, or it is closed
    bool is_closed = false;
  };
  // No time: waits without limit. 0: only what is there already.
  Result<Received> receive(std::optional<std::chrono::milliseconds> time = std::nullopt);
  // Waits until all was sent; what arrives meanwhile is kept, so that neither waits for the other.
  Result<> send_text(std::string_view text);
  Result<> send_binary(std::string_view bytes);
  // Says Close, and waits a moment for the server's.
  void close(std::uint16_t code = close_code::kNormal, std::string_view reason = {});

  int descriptor() const;    // readable: call receive()
  bool has_pending() const;  // call it now: there is something that poll() does not see
  // After is_closed. kBroken: the connection ended without a word.
  std::uint16_t close_code() const;
  const std::string& close_reason() const;
  // From another thread or a signal handler: ends every wait with Errc::kUnavailable.
  void interrupt();

 private:
  struct Impl;
  explicit WebSocketClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace glovebox::http
