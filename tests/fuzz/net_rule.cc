// Lines of a policy as people and clients write them, and names and addresses in them.
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "net/net_policy.h"

namespace {

using namespace glovebox;

void check_name(std::string_view text) {
  const auto name = net::HostName::parse(text);
  if (!name) {
    fuzz::promise(name.error().message().size() < 600, "what is shown of it is bounded");
    return;
  }
  const std::string& form = name->str();
  fuzz::promise(!form.empty() && form.size() <= 253, "a name is bounded");
  fuzz::promise(
      form.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_.") == std::string::npos,
      "it has one form");
  const auto again = net::HostName::parse(form);
  fuzz::promise(again.has_value() && *again == *name, "which is its own form");
  fuzz::promise(!net::IpAddress::parse(text), "no text is both a name and an address");
  fuzz::promise(!name->is_below(*name), "a name is not below itself");
}

void check_address(std::string_view text) {
  const auto address = net::IpAddress::parse(text);
  if (!address) return;
  const auto again = net::IpAddress::parse(address->text());
  fuzz::promise(again.has_value() && *again == *address, "an address reads back");
  const auto dialled = net::IpAddress::from(address->to_sockaddr(443));
  fuzz::promise(dialled.has_value() && *dialled == *address, "what was parsed is what is dialled");
  fuzz::promise(net::Cidr(*address, address->is_v4() ? 32 : 128).contains(*address),
                "a range of one contains it");
  if (const auto inner = address->embedded_v4(); inner && net::reserved_as(*inner)) {
    fuzz::promise(net::reserved_as(*address).has_value(), "nothing hides a reserved address");
  }
}

void check_rule(std::string_view text) {
  const auto rule = net::NetRule::parse(text);
  if (!rule) {
    fuzz::promise(rule.error().message().size() < 700, "what is shown of it is bounded");
    return;
  }
  fuzz::promise(rule->ports.first >= 1 && rule->ports.first <= rule->ports.last, "ports are ports");
  const std::string canonical = rule->text();
  fuzz::promise(canonical.size() <= 320, "a rule is bounded");
  const auto again = net::NetRule::parse(canonical);
  fuzz::promise(again.has_value() && *again == *rule, "the canonical spelling is the same rule");
  fuzz::promise(again->text() == canonical, "and is canonical");
  fuzz::promise(rule->covers(*rule), "a rule covers itself");
  fuzz::promise(net::NetRule{.target = net::AnyTarget{}, .ports = {}}.covers(*rule),
                "everything covers it");
}

// Under every policy that the text makes, nothing reserved is reached.
void check_policy(std::string_view text) {
  const auto rule = net::NetRule::parse(text);
  if (!rule) return;
  net::NetRules rules;
  rules.policy.allow.push_back(*rule);
  const auto name = net::HostName::parse("a.example");
  for (const char* reserved : {"127.0.0.1", "169.254.169.254", "10.0.0.1", "::1", "fe80::1",
                               "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"}) {
    const auto address = net::IpAddress::parse(reserved);
    const auto at = net::decide_at_connect(rules, *address, rule->ports.first, {&*name, 1});
    fuzz::promise(!at.verdict.allowed, "a reserved address is not reached");
    fuzz::promise(!net::decide_named(rules, *address, rule->ports.first, *name).allowed,
                  "by any name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_name(text);
  check_address(text);
  check_rule(text);
  check_policy(text);
  return 0;
}
