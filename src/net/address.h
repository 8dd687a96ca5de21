// An IP address in one form, and ranges of them. Every address, from a guest, a resolver, a policy
// or the kernel, is parsed into one of these, which is then compared and dialled: an IPv4 address
// in IPv6 notation (::ffff:10.0.0.1) is that IPv4 address.
#pragma once

#include <sys/socket.h>

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::net {

class IpAddress {
 public:
  static IpAddress v4(std::array<std::uint8_t, 4> bytes);
  // Becomes an IPv4 address if it is a mapped one.
  static IpAddress v6(std::array<std::uint8_t, 16> bytes);
  // Nothing for another family.
  static std::optional<IpAddress> from(const sockaddr_storage& address);
  // Exactly the canonical spellings that inet_pton takes: four decimal numbers, or IPv6. No zone.
  static std::optional<IpAddress> parse(std::string_view text);

  bool is_v4() const { return v4_; }
  // 4 or 16 bytes, in network order.
  const std::uint8_t* data() const { return bytes_.data(); }
  std::size_t size() const { return v4_ ? 4 : 16; }
  std::string text() const;
  // For connect() and sendto(); the length of the family's own structure.
  sockaddr_storage to_sockaddr(std::uint16_t port) const;
  static socklen_t sockaddr_size(const sockaddr_storage& address);
  // The IPv4 address that some gateway on the way would make of it: NAT64 (64:ff9b::/96 and
  // 64:ff9b:1::/48), 6to4, Teredo, IPv4-compatible, ISATAP.
  std::optional<IpAddress> embedded_v4() const;

  auto operator<=>(const IpAddress&) const = default;

 private:
  IpAddress() = default;
  std::array<std::uint8_t, 16> bytes_{};
  bool v4_ = false;
};

// "10.0.0.0/8", "2001:db8::/32", or one address. Bits behind the prefix must be zero.
class Cidr {
 public:
  static Result<Cidr> parse(std::string_view text);
  Cidr(IpAddress base, std::uint8_t prefix);
  bool contains(const IpAddress& address) const;
  bool contains(const Cidr& other) const;
  const IpAddress& base() const { return base_; }
  std::uint8_t prefix() const { return prefix_; }
  std::string text() const;  // always with its prefix
  auto operator<=>(const Cidr&) const = default;

 private:
  IpAddress base_;
  std::uint8_t prefix_;
};

// What no policy reaches by itself: "loopback", "private", "link-local", "metadata", "shared",
// "multicast", "reserved", "documentation" ...; nothing for an address of the public internet. An
// address that embeds another is what either of them is.
std::optional<std::string_view> reserved_as(const IpAddress& address);
// The same where the administrator has opened some ranges. A range opens only what is reserved by
// one that it lies in: 10.1.0.0/16 does, 0.0.0.0/0 opens nothing, and a metadata service is opened
// by its own address alone. An address that embeds another is free only if both are.
std::optional<std::string_view> reserved_as(const IpAddress& address, std::span<const Cidr> opened);
// What no server is at, however private a network may be: "loopback" (of the dialling host), "this
// host", "link-local", "metadata", "multicast", "broadcast", "discard"; nothing for an address that
// may be assigned. An address that embeds another is what either of them is.
std::optional<std::string_view> never_assigned(const IpAddress& address);
// All of a range: nothing in it could ever be reached.
std::optional<std::string_view> reserved_as(const Cidr& range, std::span<const Cidr> opened);
// For the configuration: kInvalidArgument for a range that is wider than a reserved one and so
// would open nothing of it. A public one says that this host's own addresses in it may be dialled.
Result<> check_can_be_opened(const Cidr& range);

}  // namespace glovebox::net
