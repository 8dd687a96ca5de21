#include "config/network.h"

#include <optional>
#include <string_view>

#include "config/value.h"

namespace glovebox::config {
namespace {

tl::unexpected<Error> bad_network(const std::string& word, const std::string& why) {
  return fail(Errc::kInvalidArgument, "'" + word.substr(0, 100) + "': " + why);
}

template <class T>
Result<std::vector<T>> parse_each(const std::vector<std::string>& words) {
  if (words.size() > net::kMaxRules) {
    return fail(Errc::kInvalidArgument,
                "has more than " + std::to_string(net::kMaxRules) + " entries");
  }
  std::vector<T> parsed;
  for (const std::string& word : words) {
    auto one = T::parse(word);
    if (!one) return bad_network(word, one.error().message());
    parsed.push_back(std::move(*one));
  }
  return parsed;
}

std::optional<NameServer> parse_name_server(std::string_view text) {
  if (const auto address = net::IpAddress::parse(text))
    return NameServer{.address = *address, .port = 53};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto port = parse_port(text.substr(colon + 1));
  std::string_view host = text.substr(0, colon);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  const auto address = net::IpAddress::parse(host);
  // Without brackets it could be read in two ways.
  if (!port || !address || in_brackets == (host.find(':') == std::string_view::npos)) {
    return std::nullopt;
  }
  return NameServer{.address = *address, .port = *port};
}

std::optional<std::uint64_t> bound_of(std::uint64_t most) {
  return most == 0 ? std::nullopt : std::optional(most);
}

}  // namespace

Result<std::vector<net::NetRule>> parse_net_rules(const std::vector<std::string>& words) {
  return parse_each<net::NetRule>(words);
}

Result<std::vector<net::Cidr>> parse_net_ranges(const std::vector<std::string>& words) {
  TRY(std::vector<net::Cidr> ranges, parse_each<net::Cidr>(words));
  for (const net::Cidr& range : ranges) {
    if (auto fits = net::check_can_be_opened(range); !fits) {
      return bad_network(range.text(), fits.error().message());
    }
  }
  return ranges;
}

Result<std::vector<NameServer>> parse_name_servers(const std::vector<std::string>& words) {
  std::vector<NameServer> parsed;
  for (const std::string& word : words) {
    const auto one = parse_name_server(word);
    if (!one) return bad_network(word, "must be an address, like 192.0.2.53 or [2001:db8::53]:53");
    parsed.push_back(*one);
  }
  return parsed;
}

Result<net::NetCeiling> net_ceiling(const Settings& settings) {
  net::NetCeiling ceiling;
  const auto base = net::parse_base(settings.net_ceiling);
  if (!base) return bad_network(settings.net_ceiling, "must be none, https-only or all");
  ceiling.policy.base = *base;
  TRY(ceiling.policy.allow, parse_net_rules(settings.net_allow));
  TRY(ceiling.policy.deny, parse_net_rules(settings.net_deny));
  TRY(ceiling.opened, parse_net_ranges(settings.net_opened));
  ceiling.policy.budgets = {.bytes_out = bound_of(settings.net_max_bytes_out),
                            .connections = bound_of(settings.net_max_connections),
                            .names = bound_of(settings.net_max_names)};
  return ceiling;
}

}  // namespace glovebox::config
