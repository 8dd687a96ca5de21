#include "net/net_rule.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace glovebox::net {
namespace {

constexpr std::size_t kMaxRule = 320;  // wire::kMaxRuleText

std::optional<std::uint16_t> parse_port(std::string_view text) {
  if (text.empty() || text.size() > 5 || text[0] < '1' || text[0] > '9') return std::nullopt;
  unsigned number = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return std::nullopt;
  if (number > 65535) return std::nullopt;
  return static_cast<std::uint16_t>(number);
}

Result<PortRange> parse_ports(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_port(text.substr(0, dash));
  const auto last = dash == text.npos ? first : parse_port(text.substr(dash + 1));
  if (!first || !last) {
    return fail_invalid("a port must be a number from 1 to 65535, or a range like 8000-8080");
  }
  if (*first > *last) return fail_invalid("the range of ports is reversed");
  return PortRange{.first = *first, .last = *last};
}

std::string ports_text(const PortRange& ports) {
  if (ports.is_all()) return "";
  std::string text = ':' + std::to_string(ports.first);
  if (ports.last != ports.first) text += '-' + std::to_string(ports.last);
  return text;
}

struct Halves {
  std::string_view target;
  std::optional<std::string_view> ports = std::nullopt;
  bool is_range = false;  // surely one of addresses
};

// Where the target ends and the ports begin.
Result<Halves> split(std::string_view text) {
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) return fail_invalid("the closing ']' is missing");
    const std::string_view target = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (target.find(':') == target.npos) return fail_invalid("only IPv6 addresses may be in [ ]");
    if (rest.empty()) return Halves{.target = target, .is_range = true};
    if (rest[0] != ':') return fail_invalid("only ':' and a port may follow ']'");
    return Halves{.target = target, .ports = rest.substr(1), .is_range = true};
  }
  const auto colon = text.find(':');
  if (colon == text.npos) return Halves{.target = text};
  if (text.find(':', colon + 1) == text.npos) {
    return Halves{.target = text.substr(0, colon), .ports = text.substr(colon + 1)};
  }
  const auto slash = text.find('/');
  if (slash != text.npos && text.find(':', slash) != text.npos) {
    return fail_invalid("an IPv6 range with a port must be in brackets: [2001:db8::/32]:443");
  }
  return Halves{.target = text, .is_range = true};
}

Result<NetRule::Target> parse_target(const Halves& halves) {
  const std::string_view text = halves.target;
  if (!halves.is_range) {
    if (text == "*") return AnyTarget{};
    if (text.starts_with("*.")) {
      TRY(HostName domain, HostName::parse(text.substr(2)));
      return NamesBelow{std::move(domain)};
    }
    if (text.find('*') != text.npos) {
      return fail_invalid("a '*' must be alone or the first label of a name: *.example.com");
    }
    if (text.find('/') == text.npos && !IpAddress::parse(text)) {
      TRY(HostName name, HostName::parse(text));
      return name;
    }
  }
  TRY(const Cidr range, Cidr::parse(text));
  return range;
}

bool target_covers(const NetRule::Target& a, const NetRule::Target& b) {
  if (std::holds_alternative<AnyTarget>(a)) return true;
  if (const auto* range = std::get_if<Cidr>(&a)) {
    const auto* other = std::get_if<Cidr>(&b);
    return other != nullptr && range->contains(*other);
  }
  if (const auto* below = std::get_if<NamesBelow>(&a)) {
    if (const auto* name = std::get_if<HostName>(&b)) return name->is_below(below->domain);
    const auto* other = std::get_if<NamesBelow>(&b);
    return other != nullptr &&
           (other->domain == below->domain || other->domain.is_below(below->domain));
  }
  return a == b;
}

}  // namespace

Result<NetRule> NetRule::parse(std::string_view text) {
  if (text.empty()) return fail_invalid("the rule is empty");
  if (text.size() > kMaxRule) return fail_invalid("the rule is too long");
  if (text.find("://") != text.npos) {
    return fail_invalid("a rule must be a name or an address, not a URL: example.com:443");
  }
  TRY(const Halves halves, split(text));
  TRY(Target target, parse_target(halves));
  PortRange ports;
  if (halves.ports) {
    TRY(ports, parse_ports(*halves.ports));
  }
  return NetRule{.target = std::move(target), .ports = ports};
}

std::string NetRule::text() const {
  const std::string end = ports_text(ports);
  if (const auto* name = std::get_if<HostName>(&target)) return name->str() + end;
  if (const auto* below = std::get_if<NamesBelow>(&target)) return "*." + below->domain.str() + end;
  if (const auto* range = std::get_if<Cidr>(&target)) {
    if (range->base().is_v4() || end.empty()) return range->text() + end;
    return '[' + range->text() + ']' + end;
  }
  return '*' + end;
}

bool NetRule::matches(const HostName& name) const {
  if (std::holds_alternative<AnyTarget>(target)) return true;
  if (const auto* own = std::get_if<HostName>(&target)) return *own == name;
  if (const auto* below = std::get_if<NamesBelow>(&target)) return name.is_below(below->domain);
  return false;
}

bool NetRule::matches(const IpAddress& address) const {
  if (std::holds_alternative<AnyTarget>(target)) return true;
  const auto* range = std::get_if<Cidr>(&target);
  return range != nullptr && range->contains(address);
}

bool NetRule::covers(const NetRule& other) const {
  return ports.contains(other.ports) && target_covers(target, other.target);
}

}  // namespace glovebox::net
