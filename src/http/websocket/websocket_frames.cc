#include "http/websocket/websocket_frames.h"

#include <openssl/evp.h>

#include <algorithm>
#include <span>

#include "base/base64.h"
#include "base/utf8.h"
#include "http/ascii.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kMaxControl = 125;
constexpr std::uint8_t kLength16 = 126;
constexpr std::uint8_t kLength64 = 127;

bool is_control_frame(Opcode opcode) { return static_cast<std::uint8_t>(opcode) >= 8; }

bool is_known(std::uint8_t opcode) { return opcode <= 2 || (opcode >= 8 && opcode <= 10); }

// What may stand in a Close frame.
bool may_be_sent(std::uint16_t code) {
  if (code >= 3000 && code <= 4999) return true;
  return code >= 1000 && code <= 1014 && code != 1004 && code != close_code::kNone &&
         code != close_code::kBroken;
}

std::string head(Opcode opcode, std::size_t size, std::uint8_t mask_bit) {
  std::string out;
  out += static_cast<char>(0x80 | static_cast<std::uint8_t>(opcode));
  if (size <= kMaxControl) {
    out += static_cast<char>(mask_bit | size);
    return out;
  }
  const int bytes = size <= 0xFFFF ? 2 : 8;
  out += static_cast<char>(mask_bit | (bytes == 2 ? kLength16 : kLength64));
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    out += static_cast<char>((static_cast<std::uint64_t>(size) >> shift) & 0xFF);
  }
  return out;
}

}  // namespace

std::size_t WebSocketReader::header_size() const {
  if (header_got_ < 2) return 2;
  const std::uint8_t length = header_[1] & 0x7F;
  const std::size_t extended = length == kLength16 ? 2 : length == kLength64 ? 8 : 0;
  return 2 + extended + ((header_[1] & 0x80) != 0 ? 4 : 0);
}

WebSocketReader::Event WebSocketReader::read(std::string_view& bytes) {
  for (;;) {
    if (broken_) return *broken_;
    while (!in_payload_) {
      if (header_got_ >= 2 && header_got_ == header_size()) {
        broken_ = begin_frame();
        if (broken_) return *broken_;
        break;
      }
      if (bytes.empty()) return NeedMore{};
      header_[header_got_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
    }
    std::string& into = is_control_frame(opcode_) ? control_ : message_;
    const std::size_t run = std::min<std::uint64_t>(left_, bytes.size());
    const std::size_t before = into.size();
    into.append(bytes.substr(0, run));
    bytes.remove_prefix(run);
    left_ -= run;
    if (masks_ == Masks::kMust) {
      for (std::size_t i = 0; i < run; ++i) {
        into[before + i] ^= static_cast<char>(mask_[(mask_at_ + i) & 3]);
      }
      mask_at_ = (mask_at_ + run) & 3;
    }
    if (left_ > 0) return NeedMore{};
    Event event = end_frame();
    if (const Broken* wrong = std::get_if<Broken>(&event)) broken_ = *wrong;
    if (!std::holds_alternative<NeedMore>(event)) return event;
  }
}

std::optional<WebSocketReader::Broken> WebSocketReader::begin_frame() {
  const auto wrong = [](std::string_view why) {
    return Broken{.code = close_code::kProtocolError, .why = why};
  };
  const std::uint8_t opcode = header_[0] & 0x0F;
  const bool is_masked = (header_[1] & 0x80) != 0;
  if ((header_[0] & 0x70) != 0) return wrong("reserved bits are set without an extension");
  if (!is_known(opcode)) return wrong("unknown frame opcode");
  if (is_masked != (masks_ == Masks::kMust)) {
    return wrong(is_masked ? "a masked frame" : "a frame that is not masked");
  }
  is_final_ = (header_[0] & 0x80) != 0;
  opcode_ = static_cast<Opcode>(opcode);
  std::size_t at = 2;
  left_ = header_[1] & 0x7F;
  if (left_ >= kLength16) {
    const std::size_t end = at + (left_ == kLength16 ? 2 : 8);
    const std::uint64_t least = left_ == kLength16 ? kMaxControl + 1 : 0x10000;
    for (left_ = 0; at < end; ++at) left_ = left_ << 8 | header_[at];
    if (left_ < least || (left_ >> 63) != 0)
      return wrong("a length that is not in its shortest form");
  }
  if (is_masked) std::copy_n(header_.begin() + at, 4, mask_.begin());
  mask_at_ = 0;
  if (is_control_frame(opcode_)) {
    if (!is_final_ || left_ > kMaxControl) return wrong("a control frame that is too long");
    control_.clear();
  } else {
    if (in_message_ != (opcode_ == Opcode::kContinuation)) {
      return wrong("unexpected fragment");
    }
    if (!in_message_) is_text_ = opcode_ == Opcode::kText;
    in_message_ = true;
    if (left_ > max_message_ - message_.size()) {
      return Broken{.code = close_code::kTooLarge, .why = "the message is too large"};
    }
  }
  in_payload_ = true;
  return std::nullopt;
}

WebSocketReader::Event WebSocketReader::end_frame() {
  in_payload_ = false;
  header_got_ = 0;
  switch (opcode_) {
    case Opcode::kPing:
      return Ping{std::move(control_)};
    case Opcode::kPong:
      return Pong{};
    case Opcode::kClose:
      return end_close();
    default:
      break;
  }
  if (!is_final_) return NeedMore{};
  in_message_ = false;
  if (is_text_ && !is_utf8(message_)) {
    return Broken{.code = close_code::kNotUtf8, .why = "the text is not UTF-8"};
  }
  WebSocketMessage message{.text = is_text_, .data = std::move(message_)};
  message_.clear();
  return message;
}

WebSocketReader::Event WebSocketReader::end_close() {
  Close close;
  if (control_.empty()) return close;
  if (control_.size() == 1) {
    return Broken{.code = close_code::kProtocolError, .why = "truncated close code"};
  }
  close.code = static_cast<std::uint16_t>(static_cast<std::uint8_t>(control_[0]) << 8 |
                                          static_cast<std::uint8_t>(control_[1]));
  close.reason = control_.substr(2);
  if (!may_be_sent(close.code)) {
    return Broken{.code = close_code::kProtocolError, .why = "invalid close code"};
  }
  if (!is_utf8(close.reason)) {
    return Broken{.code = close_code::kNotUtf8, .why = "the reason is not UTF-8"};
  }
  return close;
}

std::string frame_head(Opcode opcode, std::size_t size) { return head(opcode, size, 0); }

std::string masked_frame(Opcode opcode, std::string_view payload,
                         std::array<std::uint8_t, 4> mask) {
  std::string out = head(opcode, payload.size(), 0x80);
  out.reserve(out.size() + 4 + payload.size());
  for (const std::uint8_t byte : mask) out += static_cast<char>(byte);
  const std::size_t at = out.size();
  out += payload;
  for (std::size_t i = 0; i < payload.size(); ++i) out[at + i] ^= static_cast<char>(mask[i & 3]);
  return out;
}

std::string close_payload(std::uint16_t code, std::string_view reason) {
  std::string out;
  if (!may_be_sent(code)) return out;
  out += static_cast<char>(code >> 8);
  out += static_cast<char>(code & 0xFF);
  while (!reason.empty()) {
    const std::size_t size = utf8_character_size(reason);
    if (size == 0 || out.size() + size > kMaxControl) break;
    out += reason.substr(0, size);
    reason.remove_prefix(size);
  }
  return out;
}

std::string accept_key(std::string_view key) {
  const std::string text = std::string(key) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr) != 1) return {};
  return base64_encode(std::span(digest, size));
}

bool header_list_contains(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    std::string_view item = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    if (std::equal(item.begin(), item.end(), word.begin(), word.end(),
                   [](char a, char b) { return lower(a) == lower(b); })) {
      return true;
    }
  }
  return false;
}

}  // namespace glovebox::http
