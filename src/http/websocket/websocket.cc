#include "http/websocket/websocket.h"

#include <array>
#include <boost/asio/steady_timer.hpp>

#include "http/server/response_head.h"
#include "http/status.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kServerReadBytes = 16 << 10;
constexpr std::size_t kMaxControls = 16 << 10;  // pongs that wait for a slow client
constexpr std::string_view kOurProtocol = "glovebox.v1";

// Lives as long as the handler's WebSocket; its timer only knows it weakly.
class ServerSocket final : public WebSocket, public std::enable_shared_from_this<ServerSocket> {
 public:
  ServerSocket(asio::any_io_executor executor, RawStream& stream, WebSocketOptions options)
      : stream_(stream),
        options_(options),
        reader_(WebSocketReader::Masks::kMust, options.max_message),
        writable_(executor),
        timer_(executor) {
    writable_.expires_at(std::chrono::steady_clock::time_point::max());
  }

  asio::awaitable<std::optional<Message>> receive() override;
  asio::awaitable<bool> send_text(std::string text) override {
    co_return co_await send_view(Opcode::kText, text);
  }
  asio::awaitable<bool> send_binary(std::string bytes) override {
    co_return co_await send_view(Opcode::kBinary, bytes);
  }
  asio::awaitable<bool> send_view(Opcode opcode, std::string_view bytes) override {
    if (has_sent_close_) co_return false;
    co_return co_await send_frame(opcode, bytes);
  }
  asio::awaitable<void> close(std::uint16_t code, std::string reason) override;
  bool is_open() const override { return !is_over_ && !has_sent_close_; }
  std::uint16_t close_code() const override { return code_; }

  void start_timer(std::chrono::milliseconds time) {
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
      const std::shared_ptr<ServerSocket> self = weak.lock();
      if (self && !error) self->on_timer();
    });
  }
  // The handler has let go: the stream goes with it.
  void detach() {
    is_over_ = true;
    timer_.cancel();
    writable_.cancel();
  }

 private:
  asio::awaitable<bool> send_frame(Opcode opcode, std::string_view payload);
  asio::awaitable<void> send_close(std::uint16_t code, std::string_view reason);
  void send_control(Opcode opcode, std::string_view payload);
  void flush_controls();
  void on_timer();
  void end() {
    is_over_ = true;
    timer_.cancel();
  }

  RawStream& stream_;
  WebSocketOptions options_;
  WebSocketReader reader_;
  std::array<char, kServerReadBytes> buffer_;
  std::string_view unread_;      // of buffer_
  asio::steady_timer writable_;  // cancelled when a frame has been written
  asio::steady_timer timer_;     // the next ping, or the end of the closing
  std::string controls_;         // frames that wait until they can be written
  bool is_writing_ = false;
  bool is_reading_ = false;  // waits for the client's bytes
  bool is_receiving_ = false;
  bool has_pinged_ = false;
  bool has_heard_ = false;  // since the ping
  bool has_sent_close_ = false;
  bool is_over_ = false;
  std::uint16_t code_ = close_code::kBroken;
};

asio::awaitable<std::optional<WebSocket::Message>> ServerSocket::receive() {
  is_receiving_ = true;
  std::optional<Message> message;
  while (!is_over_ && !message) {
    WebSocketReader::Event event = reader_.read(unread_);
    if (auto* whole = std::get_if<Message>(&event)) {
      // After our own Close nothing more is read.
      if (!has_sent_close_) message = std::move(*whole);
    } else if (const auto* ping = std::get_if<WebSocketReader::Ping>(&event)) {
      if (!has_sent_close_) send_control(Opcode::kPong, ping->data);
    } else if (const auto* closed = std::get_if<WebSocketReader::Close>(&event)) {
      code_ = closed->code;
      co_await send_close(closed->code == close_code::kNone ? close_code::kNormal : closed->code,
                          "");
      end();
    } else if (const auto* broken = std::get_if<WebSocketReader::Broken>(&event)) {
      co_await send_close(broken->code, broken->why);
      end();
    } else if (std::holds_alternative<WebSocketReader::NeedMore>(event)) {
      if (!stream_.hold(reader_.held())) {
        co_await send_close(close_code::kTryLater, "too many bytes of unfinished messages");
        end();
        continue;
      }
      is_reading_ = true;
      const std::size_t got = co_await stream_.read_some(buffer_.data(), buffer_.size());
      is_reading_ = false;
      has_heard_ = true;
      unread_ = std::string_view(buffer_.data(), got);
      if (got == 0) {
        if (stream_.stopping()) {
          co_await send_close(close_code::kGoingAway, "the server is stopping");
        }
        end();
      }
    }
  }
  is_receiving_ = false;
  co_return message;
}

// One frame at a time; who comes second waits.
asio::awaitable<bool> ServerSocket::send_frame(Opcode opcode, std::string_view payload) {
  while (is_writing_) co_await writable_.async_wait(kAwaitTuple);
  if (is_over_ || (has_sent_close_ && opcode != Opcode::kClose)) co_return false;
  is_writing_ = true;
  const std::string head = std::exchange(controls_, {}) + frame_head(opcode, payload.size());
  const bool sent = co_await stream_.write_views(head, payload);
  is_writing_ = false;
  if (!sent) {
    end();
    stream_.close();
  } else {
    flush_controls();
  }
  writable_.cancel_one();
  co_return sent;
}

asio::awaitable<void> ServerSocket::send_close(std::uint16_t code, std::string_view reason) {
  if (has_sent_close_) co_return;
  has_sent_close_ = true;
  const std::string payload = close_payload(code, reason);
  co_await send_frame(Opcode::kClose, payload);
}

asio::awaitable<void> ServerSocket::close(std::uint16_t code, std::string reason) {
  if (is_over_) co_return;
  co_await send_close(code, reason);
  if (is_over_) co_return;
  start_timer(options_.close_time);
  if (is_receiving_) co_return;
  while (!is_over_) co_await receive();
}

void ServerSocket::send_control(Opcode opcode, std::string_view payload) {
  if (controls_.size() + payload.size() > kMaxControls) return;
  controls_ += frame_head(opcode, payload.size());
  controls_ += payload;
  flush_controls();
}

// What does not go now goes before the next frame, or at the next tick.
void ServerSocket::flush_controls() {
  if (is_writing_ || is_over_ || controls_.empty()) return;
  const std::optional<std::size_t> taken = stream_.write_now(controls_);
  if (taken) {
    controls_.erase(0, *taken);
  } else {
    stream_.close();
  }
}

void ServerSocket::on_timer() {
  if (is_over_) return;
  // A ping that could not be sent, or whose answer we had no time to read, says nothing.
  const bool is_dead =
      has_pinged_ && !has_heard_ && is_reading_ && !is_writing_ && controls_.empty();
  if (is_dead || has_sent_close_) {
    stream_.close();  // pending operations fail
    return;
  }
  if (controls_.empty()) {
    has_pinged_ = true;
    has_heard_ = false;
    send_control(Opcode::kPing, {});
  } else {
    flush_controls();
  }
  start_timer(options_.ping_interval);
}

// What the handler holds.
class Held final : public WebSocket {
 public:
  explicit Held(std::shared_ptr<ServerSocket> socket) : socket_(std::move(socket)) {}
  ~Held() override { socket_->detach(); }
  asio::awaitable<std::optional<Message>> receive() override { return socket_->receive(); }
  asio::awaitable<bool> send_text(std::string text) override {
    return socket_->send_text(std::move(text));
  }
  asio::awaitable<bool> send_binary(std::string bytes) override {
    return socket_->send_binary(std::move(bytes));
  }
  asio::awaitable<bool> send_view(Opcode opcode, std::string_view bytes) override {
    return socket_->send_view(opcode, bytes);
  }
  asio::awaitable<void> close(std::uint16_t code, std::string reason) override {
    return socket_->close(code, std::move(reason));
  }
  bool is_open() const override { return socket_->is_open(); }
  std::uint16_t close_code() const override { return socket_->close_code(); }

 private:
  std::shared_ptr<ServerSocket> socket_;
};

bool is_valid_key(std::string_view key) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return key.size() == 24 && key.ends_with("==") &&
         key.substr(0, 22).find_first_not_of(kAlphabet) == std::string_view::npos;
}

std::optional<Response> refuse_handshake(const Request& request) {
  const bool asks = request.method == Method::kGet &&
                    header_list_contains(request.header("Upgrade"), "websocket");
  if (!asks || request.header("Sec-WebSocket-Version") != "13") {
    Response response = Response::refuse(426, "upgrade_required",
                                         "this path is for WebSockets (RFC 6455, version 13)");
    response.headers.add("Upgrade", "websocket");
    response.headers.add("Sec-WebSocket-Version", "13");
    return response;
  }
  if (!header_list_contains(request.header("Connection"), "upgrade") ||
      request.headers.count("Sec-WebSocket-Key") != 1 ||
      !is_valid_key(request.header("Sec-WebSocket-Key"))) {
    return Response::refuse(400, "malformed_request", "malformed WebSocket handshake");
  }
  return std::nullopt;
}

}  // namespace

asio::awaitable<void> refuse_upgrade(Request& request, RawStream& stream, Response response) {
  if (response.problem) {
    response.body = error_body(response.problem->code, response.problem->message, request.id);
    response.headers.set("Content-Type", "application/json");
  }
  Framing framing;
  framing.content_length = response.body.size();
  framing.after = AfterAnswer::kClose;
  stream.set_status(response.status);
  const std::string head = response_head(response.status, response.headers, request.id, framing);
  co_await stream.write_views(head, response.body);
}

asio::awaitable<std::unique_ptr<WebSocket>> accept_websocket(Request& request, RawStream& stream) {
  WebSocketOptions options;
  co_return co_await accept_websocket(request, stream, options);
}

asio::awaitable<std::unique_ptr<WebSocket>> accept_websocket(Request& request, RawStream& stream,
                                                             WebSocketOptions options) {
  std::optional<Response> refusal = refuse_handshake(request);
  if (refusal) {
    co_await refuse_upgrade(request, stream, std::move(*refusal));
    co_return nullptr;
  }
  std::string head =
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
      "Connection: Upgrade\r\nSec-WebSocket-Accept: ";
  head += accept_key(request.header("Sec-WebSocket-Key"));
  if (header_list_contains(request.header("Sec-WebSocket-Protocol"), kOurProtocol)) {
    head += "\r\nSec-WebSocket-Protocol: ";
    head += kOurProtocol;
  }
  head += "\r\nX-Request-Id: " + request.id + "\r\n\r\n";
  const bool sent = co_await stream.write(std::move(head));
  if (!sent) co_return nullptr;
  auto socket = std::make_shared<ServerSocket>(co_await asio::this_coro::executor, stream, options);
  socket->start_timer(options.ping_interval);
  co_return std::make_unique<Held>(std::move(socket));
}

}  // namespace glovebox::http
