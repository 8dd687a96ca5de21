#include "wire/network/net_policy_json.h"

#include <boost/json.hpp>

#include "wire/gateway/gateway_messages.h"
#include "wire/json/object_reader.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::string_view kPolicyForms =
    "must be \"none\", \"https-only\", \"all\", or an object with allow or deny";

tl::unexpected<Error> bad_field_of_policy(const std::string& path, std::string_view why) {
  return fail(Errc::kInvalidArgument, path + ": " + std::string(why));
}

Result<std::vector<net::NetRule>> read_rules(ObjectReader& fields, std::string_view name) {
  TRY(const auto texts, fields.texts(name, net::kMaxRules, kMaxRuleText));
  std::vector<net::NetRule> rules;
  rules.reserve(texts.size());
  for (const std::string& text : texts) {
    auto rule = net::NetRule::parse(text);
    if (!rule) {
      const std::string at = std::string(name) + "[" + std::to_string(rules.size()) + "]";
      return fields.bad(at, rule.error().message());
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

Result<net::NetBudgets> read_budgets(ObjectReader& fields) {
  net::NetBudgets budgets;
  const json::value* value = fields.take("budgets");
  if (value == nullptr) return budgets;
  TRY(ObjectReader numbers, ObjectReader::open(*value, fields.path_of("budgets")));
  TRY(budgets.bytes_out, numbers.whole("bytes_out", 0, kMaxNetBudget));
  TRY(budgets.connections, numbers.whole("connections", 0, kMaxNetBudget));
  TRY(budgets.names, numbers.whole("names", 0, kMaxNetBudget));
  TRY_OK(numbers.finish());
  return budgets;
}

Result<net::NetPolicy> read_policy_object(const json::value& value, const std::string& path) {
  TRY(ObjectReader fields, ObjectReader::open(value, path));
  net::NetPolicy policy;
  TRY(const auto base, fields.text("base", 32));
  TRY(policy.allow, read_rules(fields, "allow"));
  // An empty list has a meaning, too: nothing is allowed.
  const bool has_allow = fields.take("allow") != nullptr;
  TRY(policy.deny, read_rules(fields, "deny"));
  const bool has_deny = fields.take("deny") != nullptr;
  TRY(policy.budgets, read_budgets(fields));
  TRY(const auto precedence, fields.text("precedence", 32));
  TRY_OK(fields.finish());
  if (base) {
    const auto known = net::parse_base(*base);
    if (!known) return fields.bad("base", "must be none, https-only or all");
    policy.base = *known;
  } else if (has_allow) {
    policy.base = net::NetBase::kNone;
  } else if (has_deny) {
    policy.base = net::NetBase::kAll;
  } else {
    return bad_field_of_policy(path, "must have allow, deny or base");
  }
  if (precedence && *precedence != "deny" && *precedence != "allow") {
    return fields.bad("precedence", "must be deny or allow: the list that wins");
  }
  policy.allow_wins = precedence == "allow";
  return policy;
}

}  // namespace

Result<net::NetPolicy> read_net_policy(const json::value& value, const std::string& path) {
  if (value.is_object()) return read_policy_object(value, path);
  const json::string* word = value.if_string();
  if (word == nullptr) return bad_field_of_policy(path, kPolicyForms);
  const auto base = net::parse_base(std::string_view(word->data(), word->size()));
  if (!base) return bad_field_of_policy(path, kPolicyForms);
  net::NetPolicy policy;
  policy.base = *base;
  return policy;
}

json::value net_policy_json(const net::NetPolicy& policy) {
  // Our own text, which is JSON: that it parses is what the test of it shows.
  boost::system::error_code ec;
  json::value value = json::parse(net::canonical_text(policy), ec);
  return value;
}

}  // namespace glovebox::wire
