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

constexpr std::uint8_t kHandshakeRecord = 22;
constexpr std::uint8_t kClientHello = 1;
constexpr std::size_t kRecordHeader = 5;
constexpr std::size_t kMaxRecord = 1 << 14;
constexpr std::size_t kHandshakeHeader = 4;
constexpr std::uint16_t kServerName = 0;  // the extension
constexpr std::uint8_t kHostNameType = 0;

// Takes from the front of complete bytes. What is not there makes it fail, once and for all.
class Reader {
 public:
  explicit Reader(Bytes bytes) : rest_(bytes) {}

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

// Exactly one name of the one type that there is. Servers differ in what they make of a second
// one, or of a type they do not know.
HelloResult read_server_name(Bytes extension) {
  Reader outer(extension);
  const Bytes list = outer.vector(2);
  if (outer.failed() || !outer.at_end()) return refused("server name: lengths disagree");
  if (list.empty()) return refused("no server name");
  Reader inner(list);
  const std::uint16_t type = inner.number(1);
  const Bytes name = inner.vector(2);
  if (inner.failed()) return refused("server name: lengths disagree");
  if (!inner.at_end()) return refused("two server names");
  if (type != kHostNameType) return refused("server name of another type");
  const std::string_view text(reinterpret_cast<const char*>(name.data()), name.size());
  Result<HostName> parsed = HostName::parse(text);
  if (!parsed) return refused("server name is not a host name");
  return HelloName{std::move(*parsed)};
}

HelloResult read_extensions(Bytes extensions) {
  // A kind that comes twice is forbidden (RFC 8446, 4.2), and which of them counts is anybody's
  // guess. One bit for each kind.
  std::bitset<65536> seen;
  std::optional<Bytes> server_name;
  Reader reader(extensions);
  while (!reader.at_end()) {
    const std::uint16_t kind = reader.number(2);
    const Bytes extension = reader.vector(2);
    if (reader.failed()) return refused("extensions: lengths disagree");
    if (seen.test(kind)) {
      return refused(kind == kServerName ? "two server names" : "two extensions of one kind");
    }
    seen.set(kind);
    if (kind == kServerName) server_name = extension;
  }
  if (!server_name) return refused("no server name");
  return read_server_name(*server_name);
}

// The whole message, without its header.
HelloResult read_hello(Bytes hello) {
  Reader reader(hello);
  const std::uint16_t version = reader.number(2);
  reader.take(32);  // random
  const Bytes session = reader.vector(1);
  const Bytes suites = reader.vector(2);
  const Bytes compressions = reader.vector(1);
  if (reader.failed()) return refused("ClientHello: lengths disagree");
  if (version <= 0x0300 || version >= 0x0400) return refused("not a version of TLS");
  if (session.size() > 32 || suites.empty() || suites.size() % 2 != 0 || compressions.empty()) {
    return refused("ClientHello: lengths disagree");
  }
  if (reader.at_end()) return refused("no server name");  // TLS 1.0 without extensions
  const Bytes extensions = reader.vector(2);
  if (reader.failed() || !reader.at_end()) return refused("ClientHello: lengths disagree");
  return read_extensions(extensions);
}

unsigned at(Bytes bytes, std::size_t index) { return std::to_integer<unsigned>(bytes[index]); }

}  // namespace

// Records are looked at in their order and each byte of a header as soon as it is there; the
// message only when it is complete. So an answer, once given, is the answer for whatever follows.
HelloResult read_client_hello(Bytes bytes) {
  bytes = bytes.first(std::min(bytes.size(), kMaxClientHello));
  const auto more = [&]() -> HelloResult {
    if (bytes.size() == kMaxClientHello) return refused("ClientHello too long");
    return HelloIncomplete{};
  };
  std::vector<std::byte> message;  // its header too
  std::optional<std::size_t> size;
  for (Bytes rest = bytes;;) {
    if (!rest.empty() && at(rest, 0) != kHandshakeRecord) {
      return refused(message.empty() ? "not TLS" : "another record inside the ClientHello");
    }
    if (rest.size() > 1 && at(rest, 1) != 3) return refused("not TLS");
    if (rest.size() < kRecordHeader) return more();
    const std::size_t length = at(rest, 3) << 8 | at(rest, 4);
    if (length == 0 || length > kMaxRecord) return refused("TLS record of a wrong length");
    rest = rest.subspan(kRecordHeader);
    const Bytes fragment = rest.first(std::min(length, rest.size()));
    message.insert(message.end(), fragment.begin(), fragment.end());
    if (!message.empty() && at(message, 0) != kClientHello) return refused("not a ClientHello");
    if (!size && message.size() >= kHandshakeHeader) {
      size = kHandshakeHeader + (at(message, 1) << 16 | at(message, 2) << 8 | at(message, 3));
      if (*size > kMaxClientHello - kRecordHeader) return refused("ClientHello too long");
    }
    // A ClientHello ends its record: keys may change behind it.
    const std::size_t with_record = message.size() + (length - fragment.size());
    if (size && with_record > *size) return refused("more than a ClientHello in its record");
    if (fragment.size() < length) return more();
    if (size && message.size() == *size) break;
    rest = rest.subspan(length);
  }
  return read_hello(Bytes(message).subspan(kHandshakeHeader));
}

}  // namespace glovebox::net
