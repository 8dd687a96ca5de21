#include "net/net_policy.h"

#include <algorithm>

#include "net/port_set.h"

namespace glovebox::net {
namespace {

constexpr std::string_view kNotInPolicy = "not in the policy";

bool has_name(const NetRule& rule) {
  return std::holds_alternative<HostName>(rule.target) ||
         std::holds_alternative<NamesBelow>(rule.target);
}

// A connection as far as it is known.
struct Subject {
  const IpAddress& address;
  std::optional<IpAddress> embedded;  // a deny rule for it counts for what embeds it
  std::uint16_t port;
  std::span<const HostName> names;
};

const NetRule* find_by_address(const std::vector<NetRule>& rules, const Subject& subject,
                               bool embedded_too) {
  for (const NetRule& rule : rules) {
    if (!rule.ports.contains(subject.port)) continue;
    if (rule.matches(subject.address)) return &rule;
    if (embedded_too && subject.embedded && rule.matches(*subject.embedded)) return &rule;
  }
  return nullptr;
}

const NetRule* find_by_name(const std::vector<NetRule>& rules, const Subject& subject) {
  for (const NetRule& rule : rules) {
    if (!rule.ports.contains(subject.port)) continue;
    for (const HostName& name : subject.names) {
      if (rule.matches(name)) return &rule;
    }
  }
  return nullptr;
}

bool any_name_at(const std::vector<NetRule>& rules, std::uint16_t port) {
  return std::any_of(rules.begin(), rules.end(), [&](const NetRule& rule) {
    return has_name(rule) && rule.ports.contains(port);
  });
}

// From the strictest: of two opinions the lesser one counts.
enum class Opinion { kDeny, kByName, kUnlessDeniedByName, kAllow };
struct Judged {
  Opinion opinion = Opinion::kDeny;
  std::string rule;
};

Judged judged(Opinion opinion, std::string_view list, const NetRule& rule) {
  return {opinion, std::string(list) + ' ' + rule.text()};
}
Judged judged_by_base(Opinion opinion, const NetPolicy& policy) {
  return {opinion, "base " + std::string(base_name(policy.base))};
}
Judged denied_by_default() { return {Opinion::kDeny, std::string(kNotInPolicy)}; }

// All names of the connection are known: `subject.names`.
Judged judge(const NetPolicy& policy, const Subject& subject, bool has_server_name) {
  const NetRule* allow = find_by_address(policy.allow, subject, false);
  if (allow == nullptr) allow = find_by_name(policy.allow, subject);
  const NetRule* deny = find_by_address(policy.deny, subject, true);
  if (deny == nullptr) deny = find_by_name(policy.deny, subject);
  if (allow != nullptr && (deny == nullptr || policy.allow_wins)) {
    return judged(Opinion::kAllow, "allow", *allow);
  }
  if (deny != nullptr) return judged(Opinion::kDeny, "deny", *deny);
  const bool is_https = has_server_name && subject.port == kHttpsPort;
  if (policy.base == NetBase::kAll || (policy.base == NetBase::kHttpsOnly && is_https)) {
    return judged_by_base(Opinion::kAllow, policy);
  }
  return denied_by_default();
}

// At a port where the client will say a name, before it has.
Judged judge_before_hello(const NetPolicy& policy, const Subject& subject) {
  const NetRule* allow = find_by_address(policy.allow, subject, false);
  const NetRule* deny = find_by_address(policy.deny, subject, true);
  if (allow != nullptr && policy.allow_wins) return judged(Opinion::kAllow, "allow", *allow);
  if (deny != nullptr && !policy.allow_wins) return judged(Opinion::kDeny, "deny", *deny);

  const bool name_may_allow = any_name_at(policy.allow, subject.port);
  if (deny != nullptr) {
    return judged(name_may_allow ? Opinion::kByName : Opinion::kDeny, "deny", *deny);
  }
  if (allow != nullptr || policy.base == NetBase::kAll) {
    // An address that was asked for by a denied name is not to be had by saying none.
    const bool is_denied_name = find_by_name(policy.deny, subject) != nullptr;
    const Opinion opinion = is_denied_name                           ? Opinion::kByName
                            : any_name_at(policy.deny, subject.port) ? Opinion::kUnlessDeniedByName
                                                                     : Opinion::kAllow;
    return allow != nullptr ? judged(opinion, "allow", *allow) : judged_by_base(opinion, policy);
  }
  if (policy.base == NetBase::kHttpsOnly) return judged_by_base(Opinion::kByName, policy);
  if (name_may_allow) return {Opinion::kByName, "allow by name"};
  return denied_by_default();
}

// Reports the policy's rule, unless the ceiling is stricter.
Judged stricter(Judged policy, Judged ceiling) {
  if (ceiling.opinion >= policy.opinion) return policy;
  ceiling.rule.insert(0, "ceiling: ");
  return ceiling;
}

std::optional<Judged> judge_always(const NetRules& rules, const IpAddress& address,
                                   std::uint16_t port) {
  if (port == 0) return denied_by_default();
  const Verdict place = may_be_at(rules, address);
  if (!place.allowed) return Judged{Opinion::kDeny, place.rule};
  return std::nullopt;
}

struct JudgedName {
  PortSet ports;  // at which a connection to it could be allowed
  std::string rule;
};

// The ports at which no address is left, of neither family: no name is of use there.
PortSet denied_everywhere(const std::vector<NetRule>& deny, const NetRule*& first) {
  std::vector<PortRange> v4;
  std::vector<PortRange> v6;
  for (const NetRule& rule : deny) {
    const auto* range = std::get_if<Cidr>(&rule.target);
    if (range == nullptr || range->prefix() != 0) continue;
    if (first == nullptr) first = &rule;
    (range->base().is_v4() ? v4 : v6).push_back(rule.ports);
  }
  return PortSet(std::move(v4)).both(PortSet(std::move(v6)));
}

JudgedName judge_name(const NetPolicy& policy, const HostName& name) {
  const NetRule* first_allow = nullptr;
  const NetRule* first_deny = nullptr;
  const auto ports_in = [&](const std::vector<NetRule>& rules, const NetRule*& first) {
    std::vector<PortRange> ranges;
    for (const NetRule& rule : rules) {
      if (!rule.matches(name)) continue;
      if (first == nullptr) first = &rule;
      ranges.push_back(rule.ports);
    }
    return PortSet(std::move(ranges));
  };
  const PortSet allow = ports_in(policy.allow, first_allow);
  const PortSet deny =
      ports_in(policy.deny, first_deny).either(denied_everywhere(policy.deny, first_deny));
  PortSet base;
  if (policy.base == NetBase::kAll) base = PortSet({PortRange{}});
  if (policy.base == NetBase::kHttpsOnly) base = PortSet({PortRange{kHttpsPort, kHttpsPort}});

  JudgedName result{
      .ports = policy.allow_wins ? base.minus(deny).either(allow) : base.either(allow).minus(deny),
      .rule = std::string(kNotInPolicy)};
  if (result.ports.empty()) {
    const bool would_be = first_allow != nullptr || !base.empty();
    if (would_be) result.rule = "deny " + first_deny->text();
  } else if (first_allow != nullptr) {
    result.rule = "allow " + first_allow->text();
  } else {
    result.rule = "base " + std::string(base_name(policy.base));
  }
  return result;
}

std::string list_text(const std::vector<NetRule>& rules) {
  std::vector<std::string> texts;
  texts.reserve(rules.size());
  for (const NetRule& rule : rules) texts.push_back(rule.text());
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::string text = "[";
  for (const std::string& one : texts) {
    if (text.size() > 1) text += ',';
    text += '"' + one + '"';  // no character of a rule's needs an escape
  }
  return text + ']';
}

std::string budgets_text(const NetBudgets& budgets) {
  std::string text;
  const auto add = [&](const char* name, const std::optional<std::uint64_t>& number) {
    if (!number) return;
    text += text.empty() ? '{' : ',';
    text += '"' + std::string(name) + "\":" + std::to_string(*number);
  };
  add("bytes_out", budgets.bytes_out);
  add("connections", budgets.connections);
  add("names", budgets.names);
  return text + '}';
}

tl::unexpected<Error> too_much(const std::string& what) { return fail(Errc::kPolicy, what); }

// By what the ceiling lets through where its lists say nothing. A range of addresses needs no
// name, so that it is more than https-only.
bool base_covers(NetBase base, const NetRule& rule) {
  if (base == NetBase::kAll) return true;
  return base == NetBase::kHttpsOnly && has_name(rule) && rule.ports.first == kHttpsPort &&
         rule.ports.last == kHttpsPort;
}

const NetRule* find_covering(const std::vector<NetRule>& rules, const NetRule& rule) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const NetRule& other) { return other.covers(rule); });
  return found == rules.end() ? nullptr : &*found;
}

Result<> check_base(const NetPolicy& asked, const NetCeiling& ceiling) {
  const NetPolicy& most = ceiling.policy;
  if (asked.base <= most.base) return {};
  const NetRule all{
      .target = AnyTarget{},
      .ports = asked.base == NetBase::kHttpsOnly ? PortRange{kHttpsPort, kHttpsPort} : PortRange{}};
  if (find_covering(most.allow, all) != nullptr) return {};
  std::string what =
      '"' + std::string(base_name(asked.base)) + "\" is more than this server allows";
  if (most.base != NetBase::kNone) {
    what += ": at most \"" + std::string(base_name(most.base)) + '"';
  } else {
    what += most.allow.empty() ? ": it allows no network" : ": only some names and addresses";
  }
  return too_much(what);
}

Result<> check_rule(const NetRule& rule, const NetCeiling& ceiling) {
  const NetPolicy& most = ceiling.policy;
  const auto* range = std::get_if<Cidr>(&rule.target);
  if (range != nullptr && !ceiling.any_address) {
    if (const auto kind = reserved_as(*range, ceiling.opened)) {
      return too_much("allow " + rule.text() + ": a reserved range (" + std::string(*kind) +
                      ") that this server's administrator has not opened");
    }
  }
  const bool is_allowed = find_covering(most.allow, rule) != nullptr;
  if (!is_allowed && !base_covers(most.base, rule)) {
    std::string what = "allow " + rule.text() + " is more than this server allows";
    if (most.base == NetBase::kHttpsOnly) what += ": names at port 443, such as example.com:443";
    return too_much(what);
  }
  const NetRule* denied = find_covering(most.deny, rule);
  if (denied != nullptr && !(is_allowed && most.allow_wins)) {
    return too_much("allow " + rule.text() + ": this server denies " + denied->text());
  }
  return {};
}

Result<> check_budgets(const NetBudgets& asked, const NetBudgets& most) {
  const auto check = [](const char* name, const auto& number, const auto& bound) -> Result<> {
    if (!number || !bound || *number <= *bound) return {};
    return too_much("budgets." + std::string(name) + " is more than this server allows: at most " +
                    std::to_string(*bound));
  };
  TRY_OK(check("bytes_out", asked.bytes_out, most.bytes_out));
  TRY_OK(check("connections", asked.connections, most.connections));
  return check("names", asked.names, most.names);
}

}  // namespace

std::string_view base_name(NetBase base) {
  switch (base) {
    case NetBase::kNone:
      return "none";
    case NetBase::kHttpsOnly:
      return "https-only";
    case NetBase::kAll:
      return "all";
  }
  return "none";
}

std::optional<NetBase> parse_base(std::string_view name) {
  for (const NetBase base : {NetBase::kNone, NetBase::kHttpsOnly, NetBase::kAll}) {
    if (name == base_name(base)) return base;
  }
  return std::nullopt;
}

std::string canonical_text(const NetPolicy& policy) {
  if (policy.is_none()) return "\"none\"";
  const std::string base = '"' + std::string(base_name(policy.base)) + '"';
  const bool has_budgets = policy.budgets != NetBudgets{};
  const bool has_lists = !policy.allow.empty() || !policy.deny.empty();
  if (!has_lists && !has_budgets) return base;
  const NetBase usual = policy.allow.empty() ? NetBase::kAll : NetBase::kNone;
  std::string text;
  const auto add = [&](const char* name, const std::string& value) {
    text += text.empty() ? '{' : ',';
    text += '"' + std::string(name) + "\":" + value;
  };
  if (!policy.allow.empty()) add("allow", list_text(policy.allow));
  if (!has_lists || policy.base != usual) add("base", base);
  if (has_budgets) add("budgets", budgets_text(policy.budgets));
  if (!policy.deny.empty()) add("deny", list_text(policy.deny));
  // With one list there is nothing to win over.
  if (policy.allow_wins && !policy.allow.empty() && !policy.deny.empty()) {
    add("precedence", "\"allow\"");
  }
  return text + '}';
}

Result<> check_within(const NetPolicy& asked, const NetCeiling& ceiling) {
  if (asked.is_none()) return {};
  TRY_OK(check_base(asked, ceiling));
  for (const NetRule& rule : asked.allow) TRY_OK(check_rule(rule, ceiling));
  return check_budgets(asked.budgets, ceiling.policy.budgets);
}

Verdict may_resolve(const NetRules& rules, const HostName& name) {
  JudgedName policy = judge_name(rules.policy, name);
  if (policy.ports.empty()) return {.allowed = false, .rule = std::move(policy.rule)};
  const JudgedName ceiling = judge_name(rules.ceiling.policy, name);
  if (policy.ports.both(ceiling.ports).empty()) {
    const bool has_none = ceiling.ports.empty();
    return {.allowed = false,
            .rule = "ceiling: " + (has_none ? ceiling.rule : std::string("not at these ports"))};
  }
  return {.allowed = true, .rule = std::move(policy.rule)};
}

Verdict may_be_at(const NetRules& rules, const IpAddress& address) {
  if (rules.ceiling.any_address) {
    const auto kind = never_assigned(address);
    if (kind) return {.allowed = false, .rule = "reserved: " + std::string(*kind)};
    return {.allowed = true, .rule = "any address"};
  }
  if (const auto kind = reserved_as(address, rules.ceiling.opened)) {
    return {.allowed = false, .rule = "reserved: " + std::string(*kind)};
  }
  return {.allowed = true, .rule = reserved_as(address) ? "opened" : "public"};
}

AtConnect decide_at_connect(const NetRules& rules, const IpAddress& address, std::uint16_t port,
                            std::span<const HostName> names) {
  if (auto denied = judge_always(rules, address, port)) {
    return {.verdict = {.allowed = false, .rule = std::move(denied->rule)}};
  }
  const Subject subject{address, address.embedded_v4(), port, names};
  Judged judgement;
  if (port == kHttpsPort) {
    judgement = stricter(judge_before_hello(rules.policy, subject),
                         judge_before_hello(rules.ceiling.policy, subject));
  } else {
    judgement =
        stricter(judge(rules.policy, subject, false), judge(rules.ceiling.policy, subject, false));
  }
  const Opinion opinion = judgement.opinion;
  return {
      .verdict = {.allowed = opinion != Opinion::kDeny, .rule = std::move(judgement.rule)},
      .needs_server_name = opinion == Opinion::kByName || opinion == Opinion::kUnlessDeniedByName,
      .unnamed_too = opinion == Opinion::kUnlessDeniedByName,
  };
}

Verdict decide_named(const NetRules& rules, const IpAddress& address, std::uint16_t port,
                     const HostName& server_name) {
  if (auto denied = judge_always(rules, address, port)) {
    return {.allowed = false, .rule = std::move(denied->rule)};
  }
  const Subject subject{address, address.embedded_v4(), port, std::span(&server_name, 1)};
  Judged judgement =
      stricter(judge(rules.policy, subject, true), judge(rules.ceiling.policy, subject, true));
  return {.allowed = judgement.opinion != Opinion::kDeny, .rule = std::move(judgement.rule)};
}

}  // namespace glovebox::net
