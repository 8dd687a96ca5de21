#include "wire/network/network_json.h"

#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "wire/json/json_values.h"
#include "wire/network/net_refusals.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

json::array spent_of(std::uint8_t bits) {
  json::array spent;
  const auto has = [bits](NetBudget one) { return (bits & static_cast<std::uint8_t>(one)) != 0; };
  if (has(NetBudget::kBytesOut)) spent.emplace_back("bytes_out");
  if (has(NetBudget::kConnections)) spent.emplace_back("connections");
  if (has(NetBudget::kNames)) spent.emplace_back("names");
  return spent;
}

}  // namespace

json::object decision_json(const NetDecision& decision) {
  return {{"what", decision.what == NetDecision::What::kResolve ? "resolve" : "connect"},
          {"allowed", decision.allowed},
          {"name", text_or_null(decision.name)},
          {"address", text_or_null(decision.address)},
          {"port", decision.port != 0 ? json::value(decision.port) : json::value(nullptr)},
          {"rule", to_utf8(decision.rule)},
          {"count", decision.count},
          {"bytes_out", decision.bytes_out},
          {"bytes_in", decision.bytes_in},
          {"first_at", gateway_time_json(decision.first_ms)},
          {"last_at", gateway_time_json(decision.last_ms)}};
}

json::object network_json(const NetworkFigures& figures) {
  json::array decisions;
  for (const NetDecision& decision : figures.decisions) {
    decisions.push_back(decision_json(decision));
  }
  const NetTotals& totals = figures.totals;
  return {{"bytes_out", totals.bytes_out},
          {"bytes_in", totals.bytes_in},
          {"connections", totals.connections},
          {"denied", totals.denied},
          {"names", totals.names},
          {"open", totals.open},
          {"spent", spent_of(totals.spent)},
          {"decisions", std::move(decisions)},
          {"refusals", refusals_json(refusals_of(figures.decisions))},
          {"left_out", figures.left_out},
          {"incomplete", figures.incomplete}};
}

}  // namespace glovebox::wire
