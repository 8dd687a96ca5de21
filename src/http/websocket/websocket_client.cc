#include "http/websocket/websocket_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

#include <charconv>

#include "base/assert.h"
#include "base/base64.h"
#include "base/unique_fd.h"
#include "http/client/client_answer.h"
#include "http/client/client_socket.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kMaxUpgradeHead = 64 << 10;
constexpr std::size_t kClientReadBytes = 64 << 10;
// A server of ours sends much less in one message; a run's result may be large.
constexpr std::size_t kMaxMessage = std::size_t{64} << 20;
// What is kept while we are sending; then the server has to wait.
constexpr std::size_t kMaxKept = std::size_t{16} << 20;
constexpr std::chrono::milliseconds kCloseTime{2'000};

template <std::size_t kSize>
std::array<std::uint8_t, kSize> random_bytes() {
  std::array<std::uint8_t, kSize> bytes;
  GBX_ASSERT(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(kSize));
  return bytes;
}

std::string random_key() { return base64_encode(random_bytes<16>()); }

// The value of a header in the text of a head; case aside, and the first one.
std::string_view field(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const std::size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !header_list_contains(line.substr(0, colon), name))
      continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && value.front() == ' ') value.remove_prefix(1);
    while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
    return value;
  }
  return {};
}

Result<std::string> handshake_bytes(const Url& url, const std::string& target,
                                    const Headers& headers, const std::string& key) {
  std::string out = "GET " + url.path + target + " HTTP/1.1\r\nHost: " + url.authority() + "\r\n";
  bool is_good = target.find_first_of(std::string_view("\r\n \0", 4)) == std::string::npos;
  for (const auto& [name, value] : headers) {
    out += name + ": " + value + "\r\n";
    for (const std::string* text : {&name, &value}) {
      is_good = is_good && text->find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
    }
  }
  if (!is_good) return fail(Errc::kInvalidArgument, "a line break in a header or the path");
  out += "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n";
  out += "Sec-WebSocket-Key: " + key + "\r\n\r\n";
  return out;
}

}  // namespace

struct WebSocketClient::Impl {
  UniqueFd interrupt{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  std::unique_ptr<ClientSocket> socket;
  WebSocketReader reader{WebSocketReader::Masks::kMustNot, kMaxMessage};
  std::string kept;  // received, not looked at yet
  std::uint16_t code = close_code::kBroken;
  std::string reason;
  bool has_sent_close = false;
  bool is_closed = false;

  Result<> open(const Url& url, const std::string& target, const Headers& headers,
                const ClientOptions& options, ClientResponse* refusal);
  // Takes what is there into `kept`. False: nothing is.
  Result<bool> take();
  Result<> send(Opcode opcode, std::string_view payload);
  // The next message of what is kept; answers what has to be answered.
  Result<std::optional<WebSocketMessage>> next();
};

Result<> WebSocketClient::Impl::open(const Url& url, const std::string& target,
                                     const Headers& headers, const ClientOptions& options,
                                     ClientResponse* refusal) {
  std::shared_ptr<const TlsContext> tls;
  if (url.tls) {
    TRY(tls, TlsContext::client(options.ca_file));
  }
  TRY(socket, ClientSocket::connect(url, options, std::move(tls), interrupt.get()));
  const std::string key = random_key();
  TRY(const std::string bytes, handshake_bytes(url, target, headers, key));
  TRY(const bool sent, socket->write(bytes));
  std::string head;
  std::size_t end = std::string::npos;
  while (sent && end == std::string::npos) {
    char buffer[4096];
    TRY(const std::size_t got, socket->read(buffer, sizeof buffer));
    if (got == 0 || head.size() > kMaxUpgradeHead) break;
    head.append(buffer, got);
    end = head.find("\r\n\r\n");
  }
  if (end == std::string::npos) return fail(Errc::kUnavailable, "the server closed the connection");
  if (!head.starts_with("HTTP/1.1 101")) {
    AnswerReader answer(*socket, Method::kGet, options.max_body_bytes, nullptr, nullptr);
    TRY(ClientResponse response, answer.read(std::move(head)));
    const int status = response.status;
    if (refusal != nullptr) *refusal = std::move(response);
    return fail(Errc::kUnavailable, "the server answered " + std::to_string(status));
  }
  if (field(std::string_view(head).substr(0, end), "Sec-WebSocket-Accept") != accept_key(key)) {
    return fail(Errc::kProtocol, "the server did not accept the WebSocket handshake");
  }
  kept = head.substr(end + 4);
  return {};
}

Result<bool> WebSocketClient::Impl::take() {
  char buffer[kClientReadBytes];
  std::size_t got = 0;
  switch (socket->try_read(buffer, sizeof buffer, got)) {
    case Io::kDone:
      kept.append(buffer, got);
      return true;
    case Io::kWantRead:
    case Io::kWantWrite:
      return false;
    default:
      is_closed = true;
      return false;
  }
}

Result<> WebSocketClient::Impl::send(Opcode opcode, std::string_view payload) {
  if (is_closed || (has_sent_close && opcode != Opcode::kClose)) {
    return fail(Errc::kUnavailable, "the connection is closed");
  }
  const std::string frame = masked_frame(opcode, payload, random_bytes<4>());
  std::string_view rest = frame;
  while (!rest.empty()) {
    std::size_t put = 0;
    const Io io = socket->try_write(rest, put);
    if (io == Io::kDone) {
      rest.remove_prefix(put);
      continue;
    }
    if (io == Io::kEnded || io == Io::kFailed) {
      is_closed = true;
      return fail(Errc::kUnavailable, "the server closed the connection");
    }
    const bool may_take = kept.size() < kMaxKept;
    const short events = io == Io::kWantRead ? POLLIN : may_take ? POLLIN | POLLOUT : POLLOUT;
    TRY(const short ready, socket->wait_for(events, std::nullopt));
    if ((ready & POLLIN) != 0 && may_take && io != Io::kWantRead) TRY_OK(take());
    if (is_closed) return fail(Errc::kUnavailable, "the server closed the connection");
  }
  return {};
}

Result<std::optional<WebSocketMessage>> WebSocketClient::Impl::next() {
  std::string_view bytes = kept;
  std::optional<WebSocketMessage> found;
  std::string pongs;
  while (!found && code == close_code::kBroken) {
    WebSocketReader::Event event = reader.read(bytes);
    if (auto* message = std::get_if<WebSocketMessage>(&event)) {
      found = std::move(*message);
    } else if (const auto* ping = std::get_if<WebSocketReader::Ping>(&event)) {
      pongs = ping->data;
      // Sending may add to what is kept: the view would move.
      kept.erase(0, kept.size() - bytes.size());
      if (!has_sent_close) (void)send(Opcode::kPong, pongs);
      bytes = kept;
    } else if (auto* closed = std::get_if<WebSocketReader::Close>(&event)) {
      code = closed->code;
      reason = std::move(closed->reason);
    } else if (const auto* broken = std::get_if<WebSocketReader::Broken>(&event)) {
      code = broken->code;
      reason = broken->why;
    } else if (std::holds_alternative<WebSocketReader::NeedMore>(event)) {
      break;
    }
  }
  kept.erase(0, kept.size() - bytes.size());
  if (code != close_code::kBroken) {
    if (!has_sent_close) {
      has_sent_close = true;
      const std::uint16_t answer = code == close_code::kNone ? close_code::kNormal : code;
      (void)send(Opcode::kClose, close_payload(answer, {}));
    }
    is_closed = true;
  }
  return found;
}

WebSocketClient::WebSocketClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
WebSocketClient::~WebSocketClient() = default;

Result<std::unique_ptr<WebSocketClient>> WebSocketClient::connect(const Url& url,
                                                                  std::string target,
                                                                  Headers headers,
                                                                  ClientOptions options,
                                                                  ClientResponse* refusal) {
  auto impl = std::make_unique<Impl>();
  TRY_OK(impl->open(url, target, headers, options, refusal));
  return std::unique_ptr<WebSocketClient>(new WebSocketClient(std::move(impl)));
}

Result<WebSocketClient::Received> WebSocketClient::receive(
    std::optional<std::chrono::milliseconds> time) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + time.value_or(std::chrono::milliseconds(0));
  Received received;
  for (;;) {
    TRY(received.message, impl_->next());
    received.is_closed = impl_->is_closed && !received.message;
    if (received.message || received.is_closed) return received;
    TRY(const bool has_more, impl_->take());
    if (has_more || impl_->is_closed) continue;
    std::optional<std::chrono::milliseconds> left;
    if (time) {
      left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      if (left->count() <= 0) return received;
    }
    TRY(const short ready, impl_->socket->wait_for(POLLIN, left));
    if (ready == 0) return received;
  }
}

Result<> WebSocketClient::send_text(std::string_view text) {
  return impl_->send(Opcode::kText, text);
}

Result<> WebSocketClient::send_binary(std::string_view bytes) {
  return impl_->send(Opcode::kBinary, bytes);
}

void WebSocketClient::close(std::uint16_t code, std::string_view reason) {
  if (impl_->is_closed || impl_->has_sent_close) return;
  impl_->has_sent_close = true;
  if (!impl_->send(Opcode::kClose, close_payload(code, reason))) return;
  const auto deadline = std::chrono::steady_clock::now() + kCloseTime;
  while (!impl_->is_closed) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    if (!receive(left)) return;
  }
}

int WebSocketClient::descriptor() const { return impl_->socket->descriptor(); }
bool WebSocketClient::has_pending() const {
  return !impl_->kept.empty() || impl_->socket->has_pending() || impl_->is_closed;
}
std::uint16_t WebSocketClient::close_code() const { return impl_->code; }
const std::string& WebSocketClient::close_reason() const { return impl_->reason; }

void WebSocketClient::interrupt() {
  const std::uint64_t one = 1;
  (void)!::write(impl_->interrupt.get(), &one, sizeof one);
}

}  // namespace glovebox::http
