#include "dialects/e2b/control/egress.h"

#include <algorithm>
#include <boost/json.hpp>

#include "net/reach.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using wire::ObjectReader;

constexpr std::string_view kEverything = "0.0.0.0/0";

Result<std::vector<net::NetRule>> read_rules(ObjectReader& fields, const char* name) {
  std::vector<net::NetRule> rules;
  const json::value* value = fields.take(name);
  if (value == nullptr) return rules;
  const json::array* list = value->if_array();
  if (list == nullptr) return fields.bad(name, "must be a list of addresses, ranges and names");
  if (list->size() > net::kMaxRules) {
    return fields.bad(name, "must have at most " + std::to_string(net::kMaxRules) + " entries");
  }
  for (const json::value& entry : *list) {
    const json::string* text = entry.if_string();
    if (text == nullptr) return fields.bad(name, "must be a list of strings");
    auto rule = net::NetRule::parse(std::string_view(text->data(), text->size()));
    if (!rule) return fields.bad(name, rule.error().message());
    rules.push_back(std::move(*rule));
  }
  return rules;
}

bool is_everything(const net::NetRule& rule) {
  if (!rule.ports.is_all()) return false;
  if (std::holds_alternative<net::AnyTarget>(rule.target)) return true;
  const auto* range = std::get_if<net::Cidr>(&rule.target);
  return range != nullptr && range->prefix() == 0 && range->base().is_v4();
}

}  // namespace

bool is_given(const json::value* value) {
  if (value == nullptr) return false;
  if (const json::array* list = value->if_array()) return !list->empty();
  if (const json::object* object = value->if_object()) return !object->empty();
  if (const json::string* text = value->if_string()) return !text->empty();
  return true;
}

Result<> read_egress(ObjectReader& fields, EgressRequest& wanted) {
  TRY(wanted.allow, read_rules(fields, "allowOut"));
  TRY(wanted.deny, read_rules(fields, "denyOut"));
  if (is_given(fields.take("rules"))) {
    return fields.bad("rules", "is not supported: outgoing requests are not rewritten");
  }
  if (is_given(fields.take("egressProxy"))) {
    return fields.bad("egressProxy",
                      "is not supported: traffic leaves through the server's own gateway");
  }
  return {};
}

Result<EgressRequest> parse_egress(std::string_view body) {
  EgressRequest wanted;
  if (body.empty()) return wanted;
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(ObjectReader fields, ObjectReader::open(document, ""));
  TRY(const auto internet, fields.truth("allow_internet_access"));
  wanted.internet = internet.value_or(true);
  TRY_OK(read_egress(fields, wanted));
  return wanted;
}

net::NetPolicy policy_of(const EgressRequest& wanted, const net::NetCeiling& ceiling) {
  const bool nothing_else =
      !wanted.internet || std::any_of(wanted.deny.begin(), wanted.deny.end(), is_everything);
  net::NetPolicy policy;
  if (!nothing_else) policy = net::all_allowed(ceiling);
  for (const net::NetRule& rule : wanted.allow) {
    const bool is_there = std::any_of(policy.allow.begin(), policy.allow.end(),
                                      [&](const net::NetRule& one) { return one.covers(rule); });
    if (!is_there) policy.allow.push_back(rule);
  }
  policy.allow_wins = true;
  // Without other access, everything that is not allowed is denied already.
  if (!nothing_else) policy.deny = wanted.deny;
  return policy;
}

json::object egress_json(const net::NetPolicy& policy) {
  json::array allow, deny;
  for (const net::NetRule& rule : policy.allow) allow.emplace_back(rule.text());
  for (const net::NetRule& rule : policy.deny) deny.emplace_back(rule.text());
  if (policy.base == net::NetBase::kNone) deny.emplace_back(kEverything);
  return {{"allowOut", std::move(allow)}, {"denyOut", std::move(deny)}};
}

}  // namespace glovebox::e2b
