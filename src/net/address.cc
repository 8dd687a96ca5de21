#include "net/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "base/assert.h"

namespace glovebox::net {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

// RFC 5952, without a dotted end: one spelling that is easy to write in any language.
std::string v6_text(const std::uint8_t* bytes) {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < 8; ++i) groups[i] = (unsigned{bytes[2 * i]} << 8) | bytes[2 * i + 1];
  std::size_t gap = 8;
  std::size_t gap_size = 1;  // a gap has at least two groups
  for (std::size_t i = 0; i < 8; ++i) {
    std::size_t end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i > gap_size) {
      gap = i;
      gap_size = end - i;
    }
  }
  std::string text;
  for (std::size_t i = 0; i < 8; ++i) {
    if (i == gap) {
      text += "::";
      i += gap_size - 1;
      continue;
    }
    if (!text.empty() && text.back() != ':') text += ':';
    std::array<char, 8> digits{};
    const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), groups[i], 16);
    text.append(digits.data(), done.ptr);
  }
  return text;
}

bool same_bits(const std::uint8_t* a, const std::uint8_t* b, unsigned bits) {
  const unsigned whole = bits / 8;
  if (std::memcmp(a, b, whole) != 0) return false;
  const unsigned rest = bits % 8;
  return rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0;
}

// The address with every bit behind the prefix zero.
IpAddress cut_to_prefix(const IpAddress& address, unsigned prefix) {
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), address.data(), address.size());
  for (unsigned i = 0; i < address.size(); ++i) {
    const unsigned kept = std::min(8u, prefix > 8 * i ? prefix - 8 * i : 0u);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] & ~(0xffu >> kept));
  }
  if (!address.is_v4()) return IpAddress::v6(bytes);
  return IpAddress::v4({bytes[0], bytes[1], bytes[2], bytes[3]});
}

// 0 to `most`, as one writes it: no sign, no leading zero.
std::optional<unsigned> parse_prefix(std::string_view text, unsigned most) {
  if (text.empty() || text.size() > 3 || (text.size() > 1 && text[0] == '0')) return std::nullopt;
  unsigned number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return std::nullopt;
  if (text[0] < '0' || text[0] > '9' || number > most) return std::nullopt;
  return number;
}

struct ReservedRange {
  const char* range;
  std::string_view kind;
};

// What IANA's registries of special addresses do not call globally reachable, and the services of
// clouds for their own machines that have other addresses. The first that fits gives the word.
constexpr ReservedRange kReserved[] = {
    {"169.254.169.254", "metadata"},
    {"169.254.170.2", "metadata"},    // credentials of AWS containers
    {"169.254.170.23", "metadata"},   // and of its pods
    {"100.100.100.200", "metadata"},  // Alibaba
    {"192.0.0.192", "metadata"},      // Oracle
    {"168.63.129.16", "metadata"},    // Azure: a public address that only its machines reach
    {"0.0.0.0/8", "this host"},
    {"10.0.0.0/8", "private"},
    {"100.64.0.0/10", "shared"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},
    {"172.16.0.0/12", "private"},
    {"192.0.0.0/24", "reserved"},
    {"192.0.2.0/24", "documentation"},
    {"192.88.99.0/24", "6to4"},
    {"192.168.0.0/16", "private"},
    {"198.18.0.0/15", "benchmarking"},
    {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},
    {"224.0.0.0/4", "multicast"},
    {"255.255.255.255", "broadcast"},
    {"240.0.0.0/4", "reserved"},

    {"fd00:ec2::254", "metadata"},    // AWS
    {"fd00:ec2::23", "metadata"},     // AWS, credentials of pods
    {"fd20:ce::254", "metadata"},     // Google
    {"fd00:42::42", "metadata"},      // Scaleway
    {"fe80::a9fe:a9fe", "metadata"},  // OpenStack
    {"::", "this host"},
    {"::1", "loopback"},
    {"100::/64", "discard"},
    {"64:ff9b:1::/48", "translation"},  // NAT64 within one network
    {"2001:db8::/32", "documentation"},
    {"2001::/32", "teredo"},
    {"2001::/23", "reserved"},
    {"2002::/16", "6to4"},
    {"3fff::/20", "documentation"},
    {"fc00::/7", "private"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "private"},
    {"ff00::/8", "multicast"},
    // Nothing but 2000::/3 is handed out; 64:ff9b::/96 is looked at before this list.
    {"::/3", "reserved"},
    {"4000::/2", "reserved"},
    {"8000::/1", "reserved"},
};

constexpr std::string_view kNeverAssigned[] = {"metadata",  "this host", "loopback", "link-local",
                                               "multicast", "broadcast", "discard"};

struct ParsedRange {
  Cidr range;
  std::string_view kind;
};

const std::vector<ParsedRange>& reserved_ranges() {
  static const std::vector<ParsedRange> ranges = [] {
    std::vector<ParsedRange> list;
    for (const ReservedRange& entry : kReserved) {
      auto range = Cidr::parse(entry.range);
      GBX_ASSERT(range.has_value());
      list.push_back({*range, entry.kind});
    }
    return list;
  }();
  return ranges;
}

const Cidr& nat64() {
  static const Cidr range = *Cidr::parse("64:ff9b::/96");
  return range;
}

// Only a range that lies inside the reserved one opens anything of it: opening 0.0.0.0/0 or
// 169.254.0.0/16 does not include the metadata service.
bool opens(const ParsedRange& reserved, const Cidr& opened) {
  return reserved.range.contains(opened);
}

}  // namespace

IpAddress IpAddress::v4(std::array<std::uint8_t, 4> bytes) {
  IpAddress address;
  std::copy(bytes.begin(), bytes.end(), address.bytes_.begin());
  address.v4_ = true;
  return address;
}

IpAddress IpAddress::v6(std::array<std::uint8_t, 16> bytes) {
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    return v4({bytes[12], bytes[13], bytes[14], bytes[15]});
  }
  IpAddress address;
  address.bytes_ = bytes;
  return address;
}

std::optional<IpAddress> IpAddress::from(const sockaddr_storage& address) {
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &in.sin_addr, bytes.size());
    return v4(bytes);
  }
  if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof in);
    std::array<std::uint8_t, 16> bytes{};
    std::memcpy(bytes.data(), &in.sin6_addr, bytes.size());
    return v6(bytes);
  }
  return std::nullopt;
}

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  // inet_pton() would stop at a NUL.
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != text.npos) return std::nullopt;
  const std::string copy(text);
  std::array<std::uint8_t, 4> four{};
  if (::inet_pton(AF_INET, copy.c_str(), four.data()) == 1) return v4(four);
  std::array<std::uint8_t, 16> sixteen{};
  if (::inet_pton(AF_INET6, copy.c_str(), sixteen.data()) == 1) return v6(sixteen);
  return std::nullopt;
}

std::string IpAddress::text() const {
  if (!v4_) return v6_text(bytes_.data());
  std::string text = std::to_string(bytes_[0]);
  for (std::size_t i = 1; i < 4; ++i) text += '.' + std::to_string(bytes_[i]);
  return text;
}

sockaddr_storage IpAddress::to_sockaddr(std::uint16_t port) const {
  sockaddr_storage storage{};
  if (v4_) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, bytes_.data(), 4);
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port);
    std::memcpy(&in.sin6_addr, bytes_.data(), 16);
    std::memcpy(&storage, &in, sizeof in);
  }
  return storage;
}

socklen_t IpAddress::sockaddr_size(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::optional<IpAddress> IpAddress::embedded_v4() const {
  if (v4_) return std::nullopt;
  const auto& b = bytes_;
  const auto at = [&](std::size_t first) {
    return v4({b[first], b[first + 1], b[first + 2], b[first + 3]});
  };
  const auto begins = [&](std::initializer_list<std::uint8_t> with) {
    return std::equal(with.begin(), with.end(), b.begin());
  };
  const bool is_isatap = (b[8] & 0xfd) == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe;
  if (begins({0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0})) return at(12);
  if (begins({0, 0x64, 0xff, 0x9b, 0, 1})) return at(12);
  if (begins({0x20, 0x02})) return at(2);
  if (begins({0x20, 0x01, 0, 0})) {
    const auto flipped = [&](std::size_t i) { return static_cast<std::uint8_t>(~b[i]); };
    return v4({flipped(12), flipped(13), flipped(14), flipped(15)});
  }
  if (is_isatap) return at(12);
  const bool is_compatible = std::all_of(b.begin(), b.begin() + 12, [](auto c) { return c == 0; });
  // :: and ::1 are no spelling of 0.0.0.0 and 0.0.0.1.
  if (is_compatible && (b[12] != 0 || b[13] != 0 || b[14] != 0 || b[15] > 1)) return at(12);
  return std::nullopt;
}

Cidr::Cidr(IpAddress base, std::uint8_t prefix)
    : base_(base),
      prefix_(static_cast<std::uint8_t>(std::min<std::size_t>(prefix, base.size() * 8))) {
  base_ = cut_to_prefix(base, prefix_);
}

Result<Cidr> Cidr::parse(std::string_view text) {
  const auto slash = text.find('/');
  const std::string_view head = text.substr(0, slash);
  const auto address = IpAddress::parse(head);
  if (!address) {
    return fail(Errc::kInvalidArgument, "not an IPv4 or IPv6 address, with an optional /prefix");
  }
  const auto bits = static_cast<unsigned>(address->size() * 8);
  unsigned prefix = bits;
  if (slash != text.npos) {
    // A mapped address is IPv4 from here on, and its prefix with it.
    const bool is_mapped = address->is_v4() && head.find(':') != head.npos;
    const auto number = parse_prefix(text.substr(slash + 1), is_mapped ? 128 : bits);
    if (!number || (is_mapped && *number < 96)) {
      return fail(Errc::kInvalidArgument,
                  is_mapped ? "the prefix of an IPv4-mapped range must be 96 to 128"
                            : "the prefix must be a number from 0 to " + std::to_string(bits));
    }
    prefix = is_mapped ? *number - 96 : *number;
  }
  Cidr range(*address, static_cast<std::uint8_t>(prefix));
  if (range.base() != *address) {
    return fail(Errc::kInvalidArgument, "bits beyond the prefix are set: write " + range.text());
  }
  return range;
}

bool Cidr::contains(const IpAddress& address) const {
  return address.is_v4() == base_.is_v4() && same_bits(base_.data(), address.data(), prefix_);
}

bool Cidr::contains(const Cidr& other) const {
  return prefix_ <= other.prefix_ && contains(other.base_);
}

std::string Cidr::text() const { return base_.text() + '/' + std::to_string(prefix_); }

std::optional<std::string_view> reserved_as(const IpAddress& address) {
  return reserved_as(address, {});
}

std::optional<std::string_view> reserved_as(const IpAddress& address,
                                            std::span<const Cidr> opened) {
  // The embedded one first: "loopback" says more than "6to4".
  if (const auto inner = address.embedded_v4()) {
    if (const auto kind = reserved_as(*inner, opened)) return kind;
  }
  if (nat64().contains(address)) return std::nullopt;
  for (const ParsedRange& entry : reserved_ranges()) {
    if (!entry.range.contains(address)) continue;
    const bool is_opened = std::any_of(opened.begin(), opened.end(), [&](const Cidr& range) {
      return range.contains(address) && opens(entry, range);
    });
    return is_opened ? std::nullopt : std::optional(entry.kind);
  }
  return std::nullopt;
}

std::optional<std::string_view> never_assigned(const IpAddress& address) {
  if (const auto inner = address.embedded_v4()) {
    if (const auto kind = never_assigned(*inner)) return kind;
  }
  for (const ParsedRange& entry : reserved_ranges()) {
    if (!entry.range.contains(address)) continue;
    const bool is_never_assigned = std::find(std::begin(kNeverAssigned), std::end(kNeverAssigned),
                                             entry.kind) != std::end(kNeverAssigned);
    return is_never_assigned ? std::optional(entry.kind) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string_view> reserved_as(const Cidr& range, std::span<const Cidr> opened) {
  if (nat64().contains(range)) {
    const auto inner = *range.base().embedded_v4();
    return reserved_as(Cidr(inner, static_cast<std::uint8_t>(range.prefix() - 96)), opened);
  }
  if (range.contains(nat64())) return std::nullopt;
  for (const ParsedRange& entry : reserved_ranges()) {
    if (!entry.range.contains(range)) continue;
    const bool is_opened = std::any_of(opened.begin(), opened.end(), [&](const Cidr& other) {
      return (other.contains(range) && opens(entry, other)) || range.contains(other);
    });
    return is_opened ? std::nullopt : std::optional(entry.kind);
  }
  return std::nullopt;
}

Result<> check_can_be_opened(const Cidr& range) {
  const auto& all = reserved_ranges();
  const auto any = [&](auto&& fits) { return std::any_of(all.begin(), all.end(), fits); };
  const bool is_inside = any([&](const ParsedRange& entry) { return opens(entry, range); });
  const bool is_wider = any([&](const ParsedRange& entry) { return range.contains(entry.range); });
  if (is_inside || !is_wider) return {};
  return fail(Errc::kInvalidArgument,
              range.text() +
                  " is wider than a reserved range, such as 10.0.0.0/8: name the "
                  "ranges that are to be opened");
}

}  // namespace glovebox::net
