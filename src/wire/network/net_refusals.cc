#include "wire/network/net_refusals.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "wire/json/json_values.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

constexpr std::size_t kMessagesInLine = 3;
constexpr std::string_view kNotInPolicyRule = "not in the policy";  // as net::Verdict has it

// "example.com:443", "[2001:db8::1]:443"; a name that was only resolved has no port.
std::string target_text(const NetDecision& decision) {
  std::string text = decision.name;
  if (text.empty()) {
    const bool is_v6 = decision.address.find(':') != std::string::npos;
    text = is_v6 && decision.port != 0 ? "[" + decision.address + "]" : decision.address;
  }
  return decision.port == 0 ? text : text + ":" + std::to_string(decision.port);
}

bool has_prefix(const std::string& rule, std::string_view prefix) {
  return rule.starts_with(prefix);
}

// Why, and what to do about it; empty: not a matter of rules.
std::string explanation_of(const NetDecision& decision, const std::string& allow) {
  const std::string& rule = decision.rule;
  if (rule == kNotInPolicyRule) return "is not in the policy; --net " + allow + " allows it";
  if (has_prefix(rule, "deny ")) return "is denied by --net-deny " + rule.substr(5);
  if (has_prefix(rule, "reserved: ")) {
    return "is a reserved address (" + rule.substr(10) +
           "), which no --net allows; the administrator can (net.opened)";
  }
  if (has_prefix(rule, "ceiling: ")) {
    return "is more than the administrator allows (" + rule.substr(9) + ")";
  }
  if (has_prefix(rule, "ClientHello: ") || rule == "no server name") {
    return "sent no TLS server name that the policy knows (" + rule + ")";
  }
  return {};
}

}  // namespace

std::vector<NetRefusal> refusals_of(const std::vector<NetDecision>& decisions) {
  std::vector<NetRefusal> refusals;
  for (const NetDecision& decision : decisions) {
    if (decision.allowed) continue;
    const std::string target = to_utf8(target_text(decision));
    const std::string explanation = to_utf8(explanation_of(decision, target));
    if (target.empty() || explanation.empty()) continue;
    std::string message = target + " " + explanation;
    const auto same = std::find_if(refusals.begin(), refusals.end(),
                                   [&](const NetRefusal& one) { return one.message == message; });
    if (same != refusals.end()) {
      same->last_ms = std::max(same->last_ms, decision.last_ms);
      continue;
    }
    if (refusals.size() == kMaxRefusals) break;
    refusals.push_back({.name = decision.name,
                        .address = decision.address,
                        .port = decision.port,
                        .rule = decision.rule,
                        .allow = decision.rule == kNotInPolicyRule ? target : std::string(),
                        .message = std::move(message),
                        .last_ms = decision.last_ms});
  }
  return refusals;
}

json::value gateway_time_json(std::int64_t ms) {
  constexpr std::int64_t kLast = 253'402'300'799'999;  // the end of 9999
  if (ms <= 0 || ms > kLast) return nullptr;
  return json::value(utc_text(ms));
}

json::array refusals_json(const std::vector<NetRefusal>& refusals) {
  json::array all;
  for (const NetRefusal& one : refusals) {
    all.push_back(
        json::object{{"name", text_or_null(one.name)},
                     {"address", text_or_null(one.address)},
                     {"port", one.port != 0 ? json::value(one.port) : json::value(nullptr)},
                     {"rule", to_utf8(one.rule)},
                     {"allow", text_or_null(one.allow)},
                     {"message", one.message},
                     {"last_at", gateway_time_json(one.last_ms)}});
  }
  return all;
}

std::string refusals_line(const std::vector<std::string>& messages) {
  if (messages.empty()) return {};
  std::string line = "network: ";
  for (std::size_t i = 0; i < std::min(messages.size(), kMessagesInLine); ++i) {
    line += (i == 0 ? "" : "; ") + messages[i];
  }
  if (messages.size() > kMessagesInLine) {
    line += " (and " + std::to_string(messages.size() - kMessagesInLine) + " more)";
  }
  return printable(line);
}

void NetworkErrorDetector::add(std::string_view bytes) {
  // Of the C library's resolver, the kernel, curl, Node and pip.
  constexpr std::array<std::string_view, 6> kNetworkErrors = {
      "Temporary failure in name resolution",
      "Name or service not known",
      "Network is unreachable",
      "Could not resolve host",
      "EAI_AGAIN",
      "ENETUNREACH"};
  constexpr std::size_t kLongest = 40;
  if (found_) return;
  last_ += bytes;
  found_ = std::any_of(kNetworkErrors.begin(), kNetworkErrors.end(), [&](std::string_view error) {
    return last_.find(error) != std::string::npos;
  });
  if (last_.size() > kLongest) last_.erase(0, last_.size() - kLongest);
}

}  // namespace glovebox::wire
