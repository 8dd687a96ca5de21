// RFC 6455 as bytes: frames in and out, for both ends. No extensions. Input is untrusted:
// lengths are checked before anything is kept, and a message never grows past its bound. Fuzzed in
// tests/fuzz/websocket_frames.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace glovebox::http {

enum class Opcode : std::uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

// Why a connection is closed: RFC 6455 section 7.4.1.
namespace close_code {
inline constexpr std::uint16_t kNormal = 1000;
inline constexpr std::uint16_t kGoingAway = 1001;
inline constexpr std::uint16_t kProtocolError = 1002;
inline constexpr std::uint16_t kNone = 1005;    // never sent: there was none
inline constexpr std::uint16_t kBroken = 1006;  // never sent: the connection ended without
inline constexpr std::uint16_t kNotUtf8 = 1007;
inline constexpr std::uint16_t kPolicy = 1008;
inline constexpr std::uint16_t kTooLarge = 1009;
inline constexpr std::uint16_t kInternal = 1011;
inline constexpr std::uint16_t kTryLater = 1013;
}  // namespace close_code

struct WebSocketMessage {
  bool text = true;
  std::string data;
};

class WebSocketReader {
 public:
  // A server's peer masks what it sends, and a client's does not.
  enum class Masks : bool { kMustNot, kMust };
  WebSocketReader(Masks masks, std::size_t max_message)
      : masks_(masks), max_message_(max_message) {}

  struct NeedMore {};
  struct Ping {
    std::string data;
  };
  struct Pong {};
  struct Close {
    std::uint16_t code = close_code::kNone;
    std::string reason;
  };
  struct Broken {  // to be answered with a Close of this code; nothing more is read
    std::uint16_t code = close_code::kProtocolError;
    std::string_view why;
  };
  using Event = std::variant<NeedMore, WebSocketMessage, Ping, Pong, Close, Broken>;
  // Takes from the front of `bytes` up to the next event. NeedMore: all of it was taken.
  Event read(std::string_view& bytes);
  // Of a message whose end has not come.
  std::size_t held() const { return message_.size() + control_.size(); }

 private:
  std::optional<Broken> begin_frame();
  Event end_frame();
  Event end_close();
  std::size_t header_size() const;

  Masks masks_;
  std::size_t max_message_;
  std::array<std::uint8_t, 14> header_{};
  std::size_t header_got_ = 0;
  bool in_payload_ = false;
  std::uint64_t left_ = 0;  // of the payload
  std::uint32_t mask_at_ = 0;
  std::array<std::uint8_t, 4> mask_{};
  Opcode opcode_ = Opcode::kText;
  bool is_final_ = false;
  bool in_message_ = false;  // a fragment came, and its end did not
  bool is_text_ = false;
  std::string message_;
  std::string control_;
  std::optional<Broken> broken_;
};

// The bytes before an unmasked payload.
std::string frame_head(Opcode opcode, std::size_t size);
// A whole frame of a client.
std::string masked_frame(Opcode opcode, std::string_view payload, std::array<std::uint8_t, 4> mask);
// The payload of a Close; the reason is cut to fit, at a character.
std::string close_payload(std::uint16_t code, std::string_view reason);

// The answer to a Sec-WebSocket-Key.
std::string accept_key(std::string_view key);

// Whether a comma-separated header has this word, case aside.
bool header_list_contains(std::string_view list, std::string_view word);

}  // namespace glovebox::http
