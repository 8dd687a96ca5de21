#include "net/reach.h"

namespace glovebox::net {
namespace {

constexpr std::size_t kMaxCeilingText = 300;  // characters of the ceiling in a refusal
// A message to the gateway has to hold all rules.
constexpr std::size_t kMaxRuleText = 64 * 1024;

}  // namespace

Result<> check_reach(const NetPolicy& asked, const NetCeiling& ceiling) {
  std::size_t letters = 0;
  for (const auto* rules : {&asked.allow, &asked.deny}) {
    for (const NetRule& rule : *rules) letters += rule.text().size();
    if (rules->size() > kMaxRules) letters = kMaxRuleText + 1;
  }
  if (letters > kMaxRuleText) {
    return fail(Errc::kInvalidArgument, "net: has more than " + std::to_string(kMaxRules) +
                                            " rules in a list, or rules of more than 64 KB");
  }
  const Result<> within = check_within(asked, ceiling);
  if (within) return {};
  std::string most = canonical_text(ceiling.policy);
  if (most.size() > kMaxCeilingText) most = most.substr(0, kMaxCeilingText) + "...";
  return fail(
      Error(within.error().code(), "net: " + within.error().message() +
                                       "; the administrator of this server allows at most " + most +
                                       " (net.ceiling, net.allow)"));
}

NetPolicy all_allowed(const NetCeiling& ceiling) {
  NetPolicy policy;
  policy.base = ceiling.policy.base;
  if (policy.base != NetBase::kAll) policy.allow = ceiling.policy.allow;
  return policy;
}

}  // namespace glovebox::net
