#include "net/client_hello.h"

#include <algorithm>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace glovebox::net {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint8_t kFirstRecordType = 20;  // change_cipher_spec, alert, handshake,
constexpr std::uint8_t kLastRecordType = 24;   // application data, heartbeat
constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHello = 1;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMaxRecord = 1 << 14;
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::uint16_t kServerName = 0;  // the extension
constexpr std::uint8_t kHostNameType = 0;

// Takes from the front of complete bytes. What is not there makes it fail, once and for all.
class HelloReader {
 public:
  explicit HelloReader(Bytes bytes) : rest_(bytes) {}

  Bytes take(std::size_t size) {
    if (size > rest_.size()) {
      failed_ = true;
      rest_ = {};
      return {};
    }
    const Bytes taken = rest_.first(size);
    rest_ = rest_.subspan(size);
    return taken;
  }
  std::uint16_t number(std::size_t size) {
    std::uint16_t value = 0;
    for (const std::byte byte : take(size)) {
      value = static_cast<std::uint16_t>(value << 8 | std::to_integer<unsigned>(byte));
    }
    return value;
  }
  // A vector of TLS: its length in `size` bytes, then itself.
  Bytes vector(std::size_t size) { return take(number(size)); }

  bool at_end() const { return rest_.empty(); }
  bool failed() const { return failed_; }

 private:
  Bytes rest_;
  bool failed_ = false;
};

HelloResult refused(std::string_view why) { return HelloRefused{std::string(why)}; }
HelloResult nameless(std::string_view why) {
  return HelloRefused{.why = std::string(why), .is_nameless = true};
}

// Extensions that hide the name: encrypted_client_hello and the drafts before it.
bool hides_name(std::uint16_t kind) { return (kind >= 0xfe08 && kind <= 0xfe0d) || kind == 0xffce; }

// Exactly one name of the one type that there is. Servers differ in what they make of a second
// one, or of a type they do not know.
HelloResult read_server_name(Bytes extension) {
  HelloReader outer(extension);
  const Bytes list = outer.vector(2);
  if (outer.failed() || !outer.at_end()) return refused("server name: lengths disagree");
  if (list.empty()) return refused("an empty list of server names");
  HelloReader inner(list);
  const std::uint16_t type = inner.number(1);
  const Bytes name = inner.vector(2);
  if (inner.failed()) return refused("server name: lengths disagree");
  if (!inner.at_end()) return refused("two server names");
  if (type != kHostNameType) return refused("server name of unknown type");
  const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
  Result<HostName> parsed = HostName::parse(text);
  if (!parsed) return refused("server name is not a host name");
  return HelloName{std::move(*parsed)};
}

HelloResult read_extensions(Bytes extensions) {
  // A kind that comes twice is forbidden (RFC 8446, 4.2), and which of them counts is a
  // guess. One bit for each kind.
  std::bitset<65536> seen;
  std::optional<Bytes> server_name;
  bool is_hidden = false;
  HelloReader reader(extensions);
  while (!reader.at_end()) {
    const std::uint16_t kind = reader.number(2);
    const Bytes extension = reader.vector(2);
    if (reader.failed()) return refused("extensions: lengths disagree");
    if (seen.test(kind)) {
      return refused(kind == kServerName ? "two server names" : "duplicate extension");
    }
    seen.set(kind);
    if (kind == kServerName) server_name = extension;
    is_hidden = is_hidden || hides_name(kind);
  }
  if (!server_name) {
    return is_hidden ? refused("encrypted server name") : nameless("no server name");
  }
  return read_server_name(*server_name);
}

// The whole message, without its header.
HelloResult read_hello(Bytes hello) {
  HelloReader reader(hello);
  const std::uint16_t version = reader.number(2);
  reader.take(32);  // random
  const Bytes session = reader.vector(1);
  const Bytes suites = reader.vector(2);
  const Bytes compressions = reader.vector(1);
  if (reader.failed()) return refused("ClientHello: lengths disagree");
  if (version <= 0x0300 || version >= 0x0400) return refused("unknown TLS version");
  if (session.size() > 32 || suites.empty() || suites.size() % 2 != 0 || compressions.empty()) {
    return refused("ClientHello: lengths disagree");
  }
  if (reader.at_end()) return nameless("no server name");  // TLS 1.0 without extensions
  const Bytes extensions = reader.vector(2);
  if (reader.failed() || !reader.at_end()) return refused("ClientHello: lengths disagree");
  return read_extensions(extensions);
}

unsigned byte_at(Bytes bytes, std::size_t index) { return std::to_integer<unsigned>(bytes[index]); }

// What does not begin with a handshake. Servers step over a warning before the hello, and some take
// one in the form of SSLv2.
HelloResult read_other(Bytes bytes) {
  const unsigned first = byte_at(bytes, 0);
  if (first >= kFirstRecordType && first <= kLastRecordType) {
    return refused("another record before the ClientHello");
  }
  if ((first & 0x80) != 0) {
    if (bytes.size() < 3) return HelloIncomplete{.needs = 3};
    if (byte_at(bytes, 2) == kClientHello) return refused("SSLv2 hello");
  }
  return nameless("not TLS");
}

// What is missing of the message, if it comes in one record: no way is shorter.
std::size_t in_one_record(Bytes message, std::optional<std::size_t> size) {
  return kRecordHeader + (size ? *size - message.size() : 1);
}

}  // namespace

// Records are looked at in their order and each byte of a header as soon as it is there; the
// message only when it is complete. So an answer, once given, is the answer for whatever follows.
HelloResult read_client_hello(Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), kMaxClientHello));
  std::vector<std::byte> message;   // its header too
  std::optional<std::size_t> size;  // of the whole of it
  std::size_t end = 0;              // of the records so far
  for (Bytes rest = bytes;;) {
    if (!rest.empty() && byte_at(rest, 0) != kHandshakeRecord) {
      if (message.empty()) return read_other(rest);
      return refused("another record inside the ClientHello");
    }
    // Said to be ignored, and by some servers it is.
    if (rest.size() > 1 && byte_at(rest, 1) != 3) return refused("TLS record of unknown version");
    if (rest.size() < kRecordHeader) {
      return HelloIncomplete{.needs = end + in_one_record(message, size)};
    }
    const std::size_t length = byte_at(rest, 3) << 8 | byte_at(rest, 4);
    if (length == 0 || length > kMaxRecord) return refused("TLS record of invalid length");
    end += kRecordHeader + length;
    // Before a byte of the record is looked at, so that the answer is the same with and without it.
    if (end > kMaxClientHello) return refused("ClientHello too long");
    rest = rest.subspan(kRecordHeader);
    const Bytes fragment = rest.first(std::min(length, rest.size()));
    message.insert(message.end(), fragment.begin(), fragment.end());
    if (!message.empty() && byte_at(message, 0) != kClientHello)
      return refused("not a ClientHello");
    if (!size && message.size() >= kHandshakeHeader) {
      size = kHandshakeHeader +
             (byte_at(message, 1) << 16 | byte_at(message, 2) << 8 | byte_at(message, 3));
    }
    // A ClientHello ends its record: keys may change behind it.
    const std::size_t missing = length - fragment.size();
    if (size && message.size() + missing > *size) {
      return refused("unexpected data after the ClientHello");
    }
    std::size_t least = end;
    if (size && message.size() + missing < *size) {
      least += kRecordHeader + (*size - message.size() - missing);
    }
    if (least > kMaxClientHello) return refused("ClientHello too long");
    if (missing > 0) return HelloIncomplete{.needs = least};
    if (size && message.size() == *size) break;
    rest = rest.subspan(length);
  }
  return read_hello(Bytes(message).subspan(kHandshakeHeader));
}

}  // namespace glovebox::net
