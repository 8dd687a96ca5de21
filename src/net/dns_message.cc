#include "net/dns_message.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

namespace glovebox::net {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kHeader = 12;
constexpr std::size_t kMaxWireName = 255;  // on the wire, with its lengths
constexpr std::size_t kMaxWireLabel = 63;
constexpr int kMaxJumps = 64;  // of compression pointers in one name
constexpr std::size_t kMaxLinks = 16;
constexpr std::size_t kMaxAddresses = 64;
constexpr std::uint16_t kClassIn = 1;
constexpr std::uint16_t kTypeOpt = 41;
constexpr std::uint16_t kOptionExtendedError = 15;
constexpr std::uint16_t kProhibited = 18;
constexpr std::uint16_t kMinPayload = 512;
constexpr std::uint16_t kMaxPayload = 1232;  // never in fragments
constexpr std::size_t kOptSize = 11;

// Bits of the header's second word.
constexpr std::uint16_t kIsAnswer = 0x8000;
constexpr std::uint16_t kOpcode = 0x7800;
constexpr std::uint16_t kTruncated = 0x0200;
constexpr std::uint16_t kRecursionDesired = 0x0100;
constexpr std::uint16_t kRecursionAvailable = 0x0080;
constexpr std::uint16_t kCode = 0x000f;

unsigned octet(Bytes bytes, std::size_t index) { return std::to_integer<unsigned>(bytes[index]); }

// Numbers from a place in a message that goes on. What is not there makes it fail for good.
class MessageReader {
 public:
  MessageReader(Bytes message, std::size_t position) : message_(message), position_(position) {}

  std::uint16_t number16() {
    const Bytes two = take(2);
    return two.empty() ? std::uint16_t{0}
                       : static_cast<std::uint16_t>(octet(two, 0) << 8 | octet(two, 1));
  }
  std::uint32_t number32() {
    const std::uint32_t high = number16();
    return high << 16 | number16();
  }
  Bytes take(std::size_t size) {
    if (failed_ || size > message_.size() - position_) {
      failed_ = true;
      return {};
    }
    const Bytes taken = message_.subspan(position_, size);
    position_ += size;
    return taken;
  }

  std::size_t position() const { return position_; }
  void go_to(std::size_t position) { position_ = position; }
  bool failed() const { return failed_; }
  bool at_end() const { return position_ == message_.size(); }

 private:
  Bytes message_;
  std::size_t position_;
  bool failed_ = false;
};

// A name in a message. `text` has no dot at its end; if a label holds a dot, a NUL or anything else
// that no HostName has, it is not `plain`, for the text would say something else.
struct WireName {
  std::size_t end = 0;  // where the message goes on
  bool plain = true;
  std::size_t size = 0;
  std::array<char, kMaxWireName> buffer{};
  std::string_view text() const { return {buffer.data(), size}; }

  Result<HostName> host() const {
    if (!plain) return fail(Errc::kInvalidArgument, "not a host name");
    return HostName::parse(text());
  }
};

bool is_plain(unsigned c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_';
}

enum class Pointers : bool { kForbidden, kBackwards };

// Every pointer goes to before the piece of name that it ends, so there is no way round in a
// circle.
std::optional<WireName> read_name(Bytes message, std::size_t position, Pointers pointers) {
  WireName name;
  std::optional<std::size_t> end;
  std::size_t piece = position;
  std::size_t wire_size = 1;  // the root's zero
  int jumps = 0;
  for (;;) {
    if (position >= message.size()) return std::nullopt;
    const unsigned length = octet(message, position);
    if (length == 0) break;
    if (length >= 0xc0) {
      if (pointers == Pointers::kForbidden || position + 1 >= message.size()) return std::nullopt;
      const std::size_t target = (length & 0x3f) << 8 | octet(message, position + 1);
      if (target < kHeader || target >= piece || ++jumps > kMaxJumps) return std::nullopt;
      if (!end) end = position + 2;
      position = piece = target;
      continue;
    }
    wire_size += length + 1;
    if (length > kMaxWireLabel || wire_size > kMaxWireName) return std::nullopt;
    if (position + 1 + length > message.size()) return std::nullopt;
    if (name.size > 0) name.buffer[name.size++] = '.';
    for (const std::byte byte : message.subspan(position + 1, length)) {
      const unsigned c = std::to_integer<unsigned>(byte);
      name.plain = name.plain && is_plain(c);
      name.buffer[name.size++] = static_cast<char>(c);
    }
    position += length + 1;
  }
  name.end = end ? *end : position + 1;
  return name;
}

class Writer {
 public:
  void number8(std::uint8_t value) { bytes_.push_back(std::byte{value}); }
  void number16(std::uint16_t value) {
    number8(static_cast<std::uint8_t>(value >> 8));
    number8(static_cast<std::uint8_t>(value & 0xff));
  }
  void number32(std::uint32_t value) {
    number16(static_cast<std::uint16_t>(value >> 16));
    number16(static_cast<std::uint16_t>(value & 0xffff));
  }
  void raw(const void* data, std::size_t size) {
    const auto* from = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), from, from + size);
  }
  void header(std::uint16_t id, std::uint16_t flags, std::uint16_t questions) {
    number16(id);
    number16(flags);
    number16(questions);
    for (int i = 0; i < 3; ++i) number16(0);
  }
  void set16(std::size_t index, std::uint16_t value) {
    bytes_[index] = std::byte(value >> 8);
    bytes_[index + 1] = std::byte(value & 0xff);
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

struct Header {
  std::uint16_t id = 0;
  std::uint16_t flags = 0;
  std::array<std::uint16_t, 4> counts{};  // questions, answers, authorities, additional ones
};

std::optional<Header> read_header(Bytes bytes) {
  MessageReader reader(bytes, 0);
  Header header{.id = reader.number16(), .flags = reader.number16(), .counts = {}};
  for (std::uint16_t& count : header.counts) count = reader.number16();
  if (reader.failed()) return std::nullopt;
  return header;
}

// A negative answer. `question`: as received, or nothing if it could not be parsed.
DnsRejected reject(const Header& header, DnsCode code, Bytes question, std::string why) {
  Writer out;
  const unsigned kept = header.flags & (kOpcode | kRecursionDesired);
  const unsigned flags = kIsAnswer | kRecursionAvailable | kept | static_cast<unsigned>(code);
  out.header(header.id, static_cast<std::uint16_t>(flags), question.empty() ? 0 : 1);
  out.raw(question.data(), question.size());
  return DnsRejected{.answer = out.take(), .why = std::move(why)};
}

// One OPT record of EDNS version 0: what the asker can take.
std::optional<std::uint16_t> read_opt(MessageReader& reader) {
  const Bytes root = reader.take(1);
  if (root.empty() || octet(root, 0) != 0 || reader.number16() != kTypeOpt) return std::nullopt;
  const std::uint16_t payload = reader.number16();
  const std::uint32_t extended = reader.number32();  // code, version, flags
  if ((extended >> 16 & 0xff) != 0) return std::nullopt;
  const std::uint16_t size = reader.number16();
  const std::size_t begin = reader.position();
  while (!reader.failed() && reader.position() < begin + size) {
    reader.number16();
    reader.take(reader.number16());
  }
  if (reader.failed() || reader.position() != begin + size) return std::nullopt;
  return std::clamp(payload, kMinPayload, kMaxPayload);
}

struct Record {
  std::size_t owner = 0;  // where its name is
  std::uint16_t type = 0;
  std::uint32_t ttl_s = 0;
  std::size_t data = 0;
  std::uint16_t size = 0;
};

// Records of other classes and types are stepped over.
Result<std::vector<Record>> read_records(Bytes message, MessageReader& reader, std::uint16_t count,
                                         DnsType type) {
  std::vector<Record> records;
  for (std::uint16_t i = 0; i < count; ++i) {
    Record record{.owner = reader.position()};
    const auto owner = read_name(message, record.owner, Pointers::kBackwards);
    if (!owner) return fail(Errc::kProtocol, "DNS answer: malformed name");
    reader.go_to(owner->end);
    record.type = reader.number16();
    const std::uint16_t record_class = reader.number16();
    record.ttl_s = reader.number32();
    if (record.ttl_s > 0x7fffffff) record.ttl_s = 0;  // RFC 2181, 8
    record.size = reader.number16();
    record.data = reader.position();
    reader.take(record.size);
    if (reader.failed()) return fail(Errc::kProtocol, "DNS answer: truncated");
    const bool is_alias = record.type == static_cast<std::uint16_t>(DnsType::kCname);
    const bool is_asked = record.type == static_cast<std::uint16_t>(type);
    if (record_class != kClassIn || (!is_alias && !is_asked)) continue;
    if (is_asked && record.size != (type == DnsType::kA ? 4 : 16)) {
      return fail(Errc::kProtocol, "DNS answer: address of wrong length");
    }
    records.push_back(record);
  }
  return records;
}

bool is_owner(Bytes message, const Record& record, const HostName& name) {
  const auto owner = read_name(message, record.owner, Pointers::kBackwards);
  if (!owner || owner->size != name.str().size()) return false;  // no need to make a HostName
  const Result<HostName> host = owner->host();
  return host.has_value() && *host == name;
}

const Record* find_alias(Bytes message, std::span<const Record> records, const HostName& name) {
  for (const Record& record : records) {
    if (record.type != static_cast<std::uint16_t>(DnsType::kCname)) continue;
    if (is_owner(message, record, name)) return &record;
  }
  return nullptr;
}

IpAddress address_of(Bytes message, const Record& record) {
  const Bytes data = message.subspan(record.data, record.size);
  if (data.size() == 4) {
    std::array<std::uint8_t, 4> bytes{};
    for (std::size_t i = 0; i < 4; ++i) bytes[i] = std::to_integer<std::uint8_t>(data[i]);
    return IpAddress::v4(bytes);
  }
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = std::to_integer<std::uint8_t>(data[i]);
  return IpAddress::v6(bytes);
}

// From the name that was asked along its aliases to the addresses at their end, whatever the order
// of the records. Records of names that are not in this chain are ignored.
Result<> follow(Bytes message, std::span<const Record> records, const HostName& name, DnsType type,
                DnsAnswer& answer) {
  HostName current = name;
  std::uint32_t ttl_s = 0x7fffffff;
  while (const Record* alias = find_alias(message, records, current)) {
    if (answer.aliases.size() == kMaxLinks) {
      return fail(Errc::kProtocol, "DNS answer: too many aliases");
    }
    const auto target = read_name(message, alias->data, Pointers::kBackwards);
    if (!target || target->end != alias->data + alias->size) {
      return fail(Errc::kProtocol, "DNS answer: malformed alias");
    }
    Result<HostName> host = target->host();
    if (!host) return fail(Errc::kProtocol, "DNS answer: an alias is not a host name");
    current = std::move(*host);
    answer.aliases.push_back(current);
    ttl_s = std::min(ttl_s, alias->ttl_s);
  }
  for (const Record& record : records) {
    if (record.type != static_cast<std::uint16_t>(type)) continue;
    if (answer.addresses.size() == kMaxAddresses) break;
    if (!is_owner(message, record, current)) continue;
    const IpAddress address = address_of(message, record);
    ttl_s = std::min(ttl_s, record.ttl_s);
    const bool is_new = std::find(answer.addresses.begin(), answer.addresses.end(), address) ==
                        answer.addresses.end();
    if (is_new) answer.addresses.push_back(address);
  }
  if (!answer.addresses.empty() || !answer.aliases.empty()) answer.ttl_s = ttl_s;
  return {};
}

DnsCode code_of(std::uint16_t flags) {
  const unsigned code = flags & kCode;
  return code <= static_cast<unsigned>(DnsCode::kRefused) ? static_cast<DnsCode>(code)
                                                          : DnsCode::kServFail;
}

}  // namespace

tl::expected<DnsQuery, DnsRejected> read_query(Bytes bytes) {
  const auto header = read_header(bytes);
  // Nothing is ever answered to an answer, or two of us would go on for ever.
  if (!header || (header->flags & kIsAnswer) != 0) {
    return tl::unexpected(DnsRejected{.answer = std::nullopt, .why = "not a question"});
  }
  const auto no = [&](DnsCode code, std::string why, Bytes question = {}) {
    return tl::unexpected(reject(*header, code, question, std::move(why)));
  };
  if (bytes.size() > kMaxDnsQuery) return no(DnsCode::kFormErr, "question too long");
  if ((header->flags & kOpcode) != 0) return no(DnsCode::kNotImp, "not a standard query");
  const auto& counts = header->counts;
  if ((header->flags & kTruncated) != 0 || counts[0] != 1 || counts[1] != 0 || counts[2] != 0 ||
      counts[3] > 1) {
    return no(DnsCode::kFormErr, "must have exactly one question");
  }
  const auto name = read_name(bytes, kHeader, Pointers::kForbidden);
  if (!name) return no(DnsCode::kFormErr, "malformed name");
  MessageReader reader(bytes, name->end);
  const std::uint16_t type = reader.number16();
  const std::uint16_t query_class = reader.number16();
  if (reader.failed()) return no(DnsCode::kFormErr, "cut off");
  const Bytes question = bytes.subspan(kHeader, reader.position() - kHeader);
  // Before the name is judged: a message of a wrong form is that, whatever it asks for.
  const std::optional<std::uint16_t> payload = counts[3] == 1 ? read_opt(reader) : std::nullopt;
  if ((counts[3] == 1 && !payload) || !reader.at_end()) {
    return no(DnsCode::kFormErr, "unexpected data after the question", question);
  }
  if (query_class != kClassIn) return no(DnsCode::kRefused, "class is not IN", question);
  Result<HostName> host = name->host();
  if (!host) return no(DnsCode::kNxDomain, "not a host name", question);
  return DnsQuery{
      .id = header->id,
      .recursion_desired = (header->flags & kRecursionDesired) != 0,
      .name = std::move(*host),
      .type = type,
      .payload = payload.value_or(kMinPayload),
      .has_opt = payload.has_value(),
      .asked_name =
          std::string(reinterpret_cast<const char*>(bytes.data()) + kHeader, name->end - kHeader),
  };
}

std::vector<std::byte> write_answer(const DnsQuery& query, DnsCode code,
                                    std::span<const IpAddress> addresses, std::uint32_t ttl_s,
                                    std::string_view why) {
  unsigned flags = kIsAnswer | kRecursionAvailable | static_cast<unsigned>(code);
  if (query.recursion_desired) flags |= kRecursionDesired;
  Writer out;
  out.header(query.id, 0, 1);
  out.raw(query.asked_name.data(), query.asked_name.size());
  out.number16(query.type);
  out.number16(kClassIn);

  const std::size_t for_opt = query.has_opt ? kOptSize : 0;
  const bool is_v4 = query.type == static_cast<std::uint16_t>(DnsType::kA);
  const bool is_v6 = query.type == static_cast<std::uint16_t>(DnsType::kAaaa);
  std::uint16_t count = 0;
  for (const IpAddress& address : addresses) {
    if (address.is_v4() ? !is_v4 : !is_v6) continue;
    if (out.size() + 12 + address.size() + for_opt > query.payload) {
      flags |= kTruncated;
      break;
    }
    out.number16(0xc000 | kHeader);  // the question's name
    out.number16(query.type);
    out.number16(kClassIn);
    out.number32(std::min<std::uint32_t>(ttl_s, 0x7fffffff));
    out.number16(static_cast<std::uint16_t>(address.size()));
    out.raw(address.data(), address.size());
    ++count;
  }
  if (query.has_opt) {
    out.number8(0);
    out.number16(kTypeOpt);
    out.number16(kMaxPayload);
    out.number32(0);
    const std::size_t option_head = 6;  // code, size, the error's number
    const std::size_t room = query.payload - std::min<std::size_t>(out.size() + 2, query.payload);
    if (why.empty() || room < option_head) {
      out.number16(0);
    } else {
      const std::string_view text = why.substr(0, std::min<std::size_t>(room - option_head, 200));
      out.number16(static_cast<std::uint16_t>(option_head + text.size()));
      out.number16(kOptionExtendedError);
      out.number16(static_cast<std::uint16_t>(2 + text.size()));
      out.number16(kProhibited);
      out.raw(text.data(), text.size());
    }
    out.set16(10, 1);
  }
  out.set16(2, static_cast<std::uint16_t>(flags));
  out.set16(6, count);
  return out.take();
}

// Without an OPT: an answer of 512 bytes is never in fragments, which others could forge, and no
// resolver is too old for it. What is longer comes over TCP.
std::vector<std::byte> write_question(std::uint16_t id, const HostName& name, DnsType type) {
  Writer out;
  out.header(id, kRecursionDesired, 1);
  std::string_view rest = name.str();
  while (!rest.empty()) {
    const std::string_view label = rest.substr(0, rest.find('.'));
    out.number8(static_cast<std::uint8_t>(label.size()));
    out.raw(label.data(), label.size());
    rest.remove_prefix(std::min(label.size() + 1, rest.size()));
  }
  out.number8(0);
  out.number16(static_cast<std::uint16_t>(type));
  out.number16(kClassIn);
  return out.take();
}

Result<DnsAnswer> read_answer(Bytes bytes, std::uint16_t id, const HostName& name, DnsType type) {
  const auto other = [] { return fail(Errc::kNotFound, "DNS answer: does not match the query"); };
  const auto header = read_header(bytes);
  if (!header || bytes.size() > kMaxDnsAnswer) return other();
  const bool is_answer = (header->flags & (kIsAnswer | kOpcode)) == kIsAnswer;
  if (!is_answer || header->id != id || header->counts[0] != 1) return other();
  const auto asked = read_name(bytes, kHeader, Pointers::kForbidden);
  if (!asked) return other();
  const Result<HostName> host = asked->host();
  MessageReader reader(bytes, asked->end);
  const bool is_type = reader.number16() == static_cast<std::uint16_t>(type);
  const bool is_class = reader.number16() == kClassIn;
  if (!host || *host != name || !is_type || !is_class || reader.failed()) return other();

  DnsAnswer answer{.code = code_of(header->flags),
                   .truncated = (header->flags & kTruncated) != 0,
                   .addresses = {},
                   .aliases = {}};
  // A truncated answer is not trusted, and a negative one has no records.
  if (answer.truncated || answer.code != DnsCode::kNoError) return answer;
  TRY(const std::vector<Record> records, read_records(bytes, reader, header->counts[1], type));
  TRY_OK(follow(bytes, records, name, type, answer));
  return answer;
}

}  // namespace glovebox::net
