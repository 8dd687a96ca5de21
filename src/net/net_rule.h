// One line of a policy: a name, the names below one ("*.example.com"), or a range of addresses;
// perhaps with a port or a range of ports: "pypi.org", "pypi.org:443", "*.example.com:8000-8100",
// "192.0.2.0/24:22", "[2001:db8::/32]:443", "2001:db8::1". "*:443" is every name and address at
// that port, "*" every one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "base/result.h"
#include "net/address.h"
#include "net/host_name.h"

namespace glovebox::net {

struct AnyTarget {
  auto operator<=>(const AnyTarget&) const = default;
};
struct NamesBelow {
  HostName domain;
  auto operator<=>(const NamesBelow&) const = default;
};

struct PortRange {
  std::uint16_t first = 1;
  std::uint16_t last = 65535;
  bool contains(std::uint16_t port) const { return port >= first && port <= last; }
  bool contains(const PortRange& other) const { return other.first >= first && other.last <= last; }
  bool is_all() const { return first == 1 && last == 65535; }
  auto operator<=>(const PortRange&) const = default;
};

struct NetRule {
  using Target = std::variant<AnyTarget, HostName, NamesBelow, Cidr>;

  static Result<NetRule> parse(std::string_view text);
  // The canonical spelling; parse() takes it.
  std::string text() const;

  bool matches(const HostName& name) const;      // whatever the port
  bool matches(const IpAddress& address) const;  // whatever the port; never a rule with a name
  // Everything that `other` matches.
  bool covers(const NetRule& other) const;

  Target target;
  PortRange ports;
  bool operator==(const NetRule&) const = default;
};

}  // namespace glovebox::net
