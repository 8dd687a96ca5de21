#include "config/index_url.h"

#include <algorithm>
#include <optional>

#include "config/value.h"
#include "net/address.h"
#include "net/net_policy.h"

namespace glovebox::config {
namespace {

constexpr std::size_t kMaxUrl = 2048;
constexpr std::uint16_t kHttpPort = 80;

// It is written into files with lines and quotes of their own: nothing in it may end one.
bool is_plain(char c) {
  return c > 0x20 && c < 0x7f && c != '"' && c != '\'' && c != '\\' && c != '<' && c != '>' &&
         c != '`' && c != ';' && c != '#' && c != '?' && c != '{' && c != '}';
}

bool is_localhost(const net::HostName& name) {
  return name.str() == "localhost" || name.str().ends_with(".localhost");
}

Result<> check_reachable(const net::NetRule::Target& target) {
  std::optional<std::string_view> kind;
  if (const auto* range = std::get_if<net::Cidr>(&target))
    kind = net::never_assigned(range->base());
  const auto* name = std::get_if<net::HostName>(&target);
  if (name != nullptr && is_localhost(*name)) kind = "loopback";
  if (!kind) return {};
  if (*kind == "loopback") {
    return fail_invalid(
        "is on loopback, which a sandbox cannot reach: use another address of this host, and let "
        "the "
        "index listen there");
  }
  return fail_invalid("has an address that cannot be reached (" + std::string(*kind) + ")");
}

struct HostAndPort {
  std::string_view host;  // without brackets
  std::optional<std::string_view> port;
  bool in_brackets = false;
};

Result<HostAndPort> split_authority(std::string_view text) {
  HostAndPort parts;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == text.npos) return fail_invalid("has an unmatched '['");
    parts.host = text.substr(1, end - 1);
    parts.in_brackets = true;
    text.remove_prefix(end + 1);
    if (text.empty()) return parts;
    if (text[0] != ':') return fail_invalid("has unexpected text between ']' and its port");
    parts.port = text.substr(1);
    return parts;
  }
  const auto colon = text.find(':');
  parts.host = text.substr(0, colon);
  if (colon != text.npos) parts.port = text.substr(colon + 1);
  return parts;
}

Result<net::NetRule::Target> parse_host(const HostAndPort& parts) {
  const auto address = net::IpAddress::parse(parts.host);
  if (parts.in_brackets && (!address || parts.host.find(':') == std::string_view::npos)) {
    return fail_invalid("has an invalid IPv6 address in [ ]");
  }
  if (address) return net::Cidr(*address, static_cast<std::uint8_t>(address->size() * 8));
  auto name = net::HostName::parse(parts.host);
  if (!name) return fail_invalid("has an invalid host name: " + name.error().message());
  return std::move(*name);
}

std::string host_text(const net::NetRule::Target& target) {
  if (const auto* name = std::get_if<net::HostName>(&target)) return name->str();
  const net::IpAddress& address = std::get<net::Cidr>(target).base();
  return address.is_v4() ? address.text() : '[' + address.text() + ']';
}

}  // namespace

Result<IndexUrl> parse_index_url(std::string_view text) {
  if (text.size() > kMaxUrl) return fail_invalid("is too long");
  if (text.find("${") != text.npos) {
    return fail_invalid("contains ${...}, which is not expanded here: write the address itself");
  }
  if (!std::all_of(text.begin(), text.end(), is_plain)) {
    return fail_invalid("contains a character that is not allowed in a URL (write it as %XX)");
  }
  const bool is_https = text.starts_with("https://");
  if (!is_https && !text.starts_with("http://")) {
    return fail_invalid("must be an address like https://pypi.org/simple");
  }
  const std::string_view scheme = text.substr(0, text.find("//") + 2);
  std::string_view rest = text.substr(scheme.size());
  const std::string_view authority = rest.substr(0, rest.find('/'));
  std::string_view path = rest.substr(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  const auto at = authority.rfind('@');
  TRY(const HostAndPort parts,
      split_authority(at == authority.npos ? authority : authority.substr(at + 1)));
  TRY(net::NetRule::Target target, parse_host(parts));
  TRY_OK(check_reachable(target));
  const std::uint16_t usual = is_https ? net::kHttpsPort : kHttpPort;
  std::uint16_t port = usual;
  if (parts.port) {
    const auto number = parse_port(*parts.port);
    if (!number) return fail_invalid("has a port that is not a number from 1 to 65535");
    port = *number;
  }
  IndexUrl url{.text = std::string(text),
               .shown = {},
               .host = host_text(target),
               .path = std::string(path),
               .has_user = at != authority.npos,
               .rule = {.target = std::move(target), .ports = {.first = port, .last = port}}};
  if (port != usual) url.host += ':' + std::to_string(port);
  url.shown = std::string(scheme) + url.host + url.path;
  return url;
}

Result<net::NetRule> parse_file_host(std::string_view text) {
  // What else a rule may be is of no help here.
  auto parsed = net::NetRule::parse(text);
  if (!parsed)
    return fail_invalid("must be a host name like files.example.com or files.example.com:80");
  net::NetRule rule = std::move(*parsed);
  if (std::holds_alternative<net::AnyTarget>(rule.target)) {
    return fail_invalid("would let a build reach every host: name the hosts of the index's files");
  }
  TRY_OK(check_reachable(rule.target));
  if (rule.ports.is_all()) rule.ports = {.first = net::kHttpsPort, .last = net::kHttpsPort};
  return rule;
}

}  // namespace glovebox::config
