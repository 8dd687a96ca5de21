#include "wire/network/network_options.h"

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string_view>

#include "wire/json/strict_json.h"
#include "wire/network/net_policy_json.h"

namespace glovebox::wire {
namespace {

std::vector<std::string> split_all(const std::vector<std::string>& values) {
  std::vector<std::string> items;
  for (const std::string& value : values) {
    std::size_t from = 0;
    while (true) {
      const std::size_t comma = value.find(',', from);
      items.push_back(value.substr(from, comma - from));
      if (comma == std::string::npos) break;
      from = comma + 1;
    }
  }
  return items;
}

Result<> add_rule(const char* option, const std::string& word, std::vector<net::NetRule>& rules) {
  auto rule = net::NetRule::parse(word);
  if (!rule) {
    return fail_invalid(std::string(option) + " '" + word.substr(0, 80) +
                        "': " + rule.error().message());
  }
  if (rules.size() == net::kMaxRules) {
    return fail_invalid(std::string(option) + ": at most " + std::to_string(net::kMaxRules) +
                        " rules");
  }
  rules.push_back(std::move(*rule));
  return {};
}

// "host" and "internet" are names, too, but hardly meant as such.
Result<> check_is_no_typo(const std::string& word) {
  if (word.empty() || word == "*" || word.find_first_of(".:[") != std::string::npos) return {};
  return fail_invalid(
      "--net '" + word.substr(0, 80) +
      "': the policies are none, https-only and all; write a name of one label with a "
      "port or a trailing dot");
}

Result<net::NetPolicy> parse_json(const std::string& text) {
  auto value = parse_strict_json(text);
  if (!value) return fail_invalid("--net: " + value.error().message());
  return read_net_policy(*value, "--net");
}

bool is_json(const std::string& value) { return value.starts_with('{'); }

}  // namespace

Result<net::NetPolicy> parse_network_options(const std::vector<std::string>& net,
                                             const std::vector<std::string>& deny) {
  net::NetPolicy policy;
  if (net.empty()) {
    if (!deny.empty())
      return fail_invalid("--net-deny needs --net: it excludes part of what --net allows");
    return policy;
  }
  if (std::any_of(net.begin(), net.end(), is_json)) {
    if (net.size() > 1 || !deny.empty())
      return fail_invalid(
          "--net with a JSON policy cannot be combined with other rules or --net-deny");
    return parse_json(net.front());
  }
  std::optional<net::NetBase> base;
  for (const std::string& word : split_all(net)) {
    const auto named = net::parse_base(word);
    if (!named) {
      TRY_OK(check_is_no_typo(word));
      TRY_OK(add_rule("--net", word, policy.allow));
      continue;
    }
    if (base && *base != *named) {
      return fail_invalid("--net: " + std::string(net::base_name(*base)) + " and " + word +
                          " cannot be combined");
    }
    base = named;
  }
  if (base == net::NetBase::kNone && !policy.allow.empty()) {
    return fail_invalid(
        "--net: none cannot be combined with rules; with rules, everything else is denied already");
  }
  for (const std::string& word : split_all(deny)) {
    TRY_OK(add_rule("--net-deny", word, policy.deny));
  }
  policy.base = base.value_or(net::NetBase::kNone);
  return policy;
}

}  // namespace glovebox::wire
