#include "control/network_words.h"

#include <boost/json.hpp>

#include "base/log.h"
#include "control/clock.h"
#include "wire/net_policy_json.h"
#include "wire/strict_json.h"

namespace glovebox::control {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostOfCeiling = 300;  // of its words in a refusal
constexpr std::size_t kMostIds = 100;        // in one event
constexpr std::size_t kMostLetters =
    64 * 1024;  // of rules: a message to the gateway has to hold them

}  // namespace

Result<> check_reach(const net::NetPolicy& asked, const net::NetCeiling& ceiling) {
  std::size_t letters = 0;
  for (const auto* rules : {&asked.allow, &asked.deny}) {
    for (const net::NetRule& rule : *rules) letters += rule.text().size();
    if (rules->size() > net::kMaxRules) letters = kMostLetters + 1;
  }
  if (letters > kMostLetters) {
    return fail(Errc::kInvalidArgument, "net: has more than " + std::to_string(net::kMaxRules) +
                                            " rules in a list, or rules of more than 64 KB");
  }
  const Result<> within = net::check_within(asked, ceiling);
  if (within) return {};
  std::string most = net::canonical_text(ceiling.policy);
  if (most.size() > kMostOfCeiling) most = most.substr(0, kMostOfCeiling) + "...";
  return fail(
      Error(within.error().code(), "net: " + within.error().message() +
                                       "; the administrator of this server allows at most " + most +
                                       " (net.ceiling, net.allow)"));
}

net::NetPolicy all_allowed(const net::NetCeiling& ceiling) {
  net::NetPolicy policy;
  policy.base = ceiling.policy.base;
  if (policy.base != net::NetBase::kAll) policy.allow = ceiling.policy.allow;
  return policy;
}

net::NetPolicy stored_policy(const std::string& text) {
  const auto read = [&text]() -> Result<net::NetPolicy> {
    TRY(const json::value value, wire::parse_strict_json(text));
    return wire::read_net_policy(value, "net");
  };
  Result<net::NetPolicy> policy = read();
  if (policy) return std::move(*policy);
  log::warn("a stored network policy cannot be read", {{"error", policy.error().message()}});
  return {};
}

json::value stored_policy_json(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value("none") : value;
}

std::string decided_event(const node::NetworkService::Decided& decided, std::uint64_t left_out) {
  json::object data = wire::decision_json(decided.decision);
  data["sandbox"] = decided.id.str();
  data["at"] = utc_text(wall_clock_ms());
  if (left_out > 0) data["left_out"] = left_out;
  return json::serialize(data);
}

std::string restarted_event(const node::NetworkService::Restarted& restarted) {
  json::array ids;
  for (const SandboxId& id : restarted.ids) {
    if (ids.size() < kMostIds) ids.emplace_back(id.str());
  }
  const json::object data{{"sandboxes", std::move(ids)},
                          {"count", restarted.ids.size()},
                          {"at", utc_text(wall_clock_ms())}};
  return json::serialize(data);
}

}  // namespace glovebox::control
