#include "wire/gateway/gateway_messages.h"

#include <algorithm>

#include "wire/byte_codec.h"

namespace glovebox::wire {
namespace {

enum GatewayKind : std::uint8_t {
  kGatewayOpen = 1,
  kGatewayChange,
  kGatewayRead,
  kGatewayList,
  kGatewayDone = 65,
  kGatewayRefused,
  kGatewayReport,
  kGatewayListed,
  kGatewayDecided,
};

constexpr std::size_t kMaxIdText = 64;
constexpr std::size_t kMaxTenant = 128;
constexpr std::size_t kMaxRefusalText = 2048;
constexpr std::size_t kMaxNameText = 253;
constexpr std::size_t kMaxAddressText = 45;

// Which of the three budgets follow.
enum BudgetBit : std::uint8_t { kHasBytesOut = 1, kHasConnections = 2, kHasNames = 4 };

tl::unexpected<Error> malformed_gateway() {
  return fail(Errc::kProtocol, "malformed gateway message");
}

ByteWriter begin_gateway(GatewayKind kind) {
  ByteWriter writer;
  writer.number(kGatewayProtocol);
  writer.number(static_cast<std::uint8_t>(kind));
  return writer;
}

void put_rules(ByteWriter& to, const std::vector<net::NetRule>& rules) {
  to.number(static_cast<std::uint32_t>(rules.size()));
  for (const net::NetRule& rule : rules) to.text(rule.text());
}

void put_policy(ByteWriter& to, const net::NetPolicy& policy) {
  to.number(static_cast<std::uint8_t>(policy.base));
  put_rules(to, policy.allow);
  put_rules(to, policy.deny);
  to.number(static_cast<std::uint8_t>(policy.allow_wins));
  const net::NetBudgets& budgets = policy.budgets;
  to.number(static_cast<std::uint8_t>((budgets.bytes_out ? kHasBytesOut : 0) |
                                      (budgets.connections ? kHasConnections : 0) |
                                      (budgets.names ? kHasNames : 0)));
  for (const auto& budget : {budgets.bytes_out, budgets.connections, budgets.names}) {
    if (budget) to.number(*budget);
  }
}

void put_decision(ByteWriter& to, const NetDecision& decision) {
  to.number(static_cast<std::uint8_t>(decision.what));
  to.number(static_cast<std::uint8_t>(decision.allowed));
  to.text(decision.name);
  to.text(decision.address);
  to.number(decision.port);
  to.text(std::string_view(decision.rule).substr(0, kMaxRuleText));
  to.number(decision.count);
  to.number(decision.bytes_out);
  to.number(decision.bytes_in);
  to.number(static_cast<std::uint64_t>(decision.first_ms));
  to.number(static_cast<std::uint64_t>(decision.last_ms));
}

void put_totals(ByteWriter& to, const NetTotals& totals) {
  to.number(totals.bytes_out);
  to.number(totals.bytes_in);
  to.number(totals.connections);
  to.number(totals.denied);
  to.number(totals.names);
  to.number(totals.open);
  to.number(totals.spent);
}

struct GatewayEncoder {
  std::vector<std::byte> operator()(const OpenNetwork& open) const {
    ByteWriter writer = begin_gateway(kGatewayOpen);
    writer.number(open.seq);
    writer.text(open.id.str());
    writer.text(open.tenant);
    put_policy(writer, open.policy);
    writer.number(static_cast<std::uint8_t>(open.is_build));
    return writer.take();
  }
  std::vector<std::byte> operator()(const ChangePolicy& change) const {
    ByteWriter writer = begin_gateway(kGatewayChange);
    writer.number(change.seq);
    writer.text(change.id.str());
    put_policy(writer, change.policy);
    return writer.take();
  }
  std::vector<std::byte> operator()(const ReadNetwork& read) const {
    ByteWriter writer = begin_gateway(kGatewayRead);
    writer.number(read.seq);
    writer.text(read.id.str());
    writer.number(static_cast<std::uint8_t>(read.close));
    return writer.take();
  }
  std::vector<std::byte> operator()(const ListNetworks& list) const {
    ByteWriter writer = begin_gateway(kGatewayList);
    writer.number(list.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const GatewayDone& done) const {
    ByteWriter writer = begin_gateway(kGatewayDone);
    writer.number(done.seq);
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworkRefused& refused) const {
    ByteWriter writer = begin_gateway(kGatewayRefused);
    writer.number(refused.seq);
    writer.number(static_cast<std::uint8_t>(refused.code));
    writer.text(std::string_view(refused.message).substr(0, kMaxRefusalText));
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworkReport& report) const {
    ByteWriter writer = begin_gateway(kGatewayReport);
    writer.number(report.seq);
    writer.text(report.id.str());
    put_totals(writer, report.totals);
    writer.number(static_cast<std::uint32_t>(report.decisions.size()));
    for (const NetDecision& decision : report.decisions) put_decision(writer, decision);
    writer.number(report.left_out);
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworksListed& listed) const {
    ByteWriter writer = begin_gateway(kGatewayListed);
    writer.number(listed.seq);
    writer.number(static_cast<std::uint32_t>(listed.ids.size()));
    for (const SandboxId& id : listed.ids) writer.text(id.str());
    return writer.take();
  }
  std::vector<std::byte> operator()(const NetworkDecided& decided) const {
    ByteWriter writer = begin_gateway(kGatewayDecided);
    writer.text(decided.id.str());
    put_decision(writer, decided.decision);
    return writer.take();
  }
};

Result<SandboxId> get_id(ByteReader& from) { return SandboxId::parse(from.text(kMaxIdText)); }

bool get_flag(ByteReader& from) {
  const auto flag = from.number<std::uint8_t>();
  if (flag > 1) from.refuse();
  return flag == 1;
}

// Goes into logs, JSON and a terminal unchanged: printable ASCII only.
std::string get_printable(ByteReader& from, std::size_t max_bytes) {
  std::string text = from.text(max_bytes);
  if (!std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    from.refuse();
  }
  return text;
}

std::vector<net::NetRule> get_rules(ByteReader& from) {
  const std::vector<std::string> texts = from.texts(net::kMaxRules, kMaxRuleText);
  std::vector<net::NetRule> rules;
  rules.reserve(texts.size());
  for (const std::string& text : texts) {
    auto rule = net::NetRule::parse(text);
    if (!rule) {
      from.refuse();
      break;
    }
    rules.push_back(std::move(*rule));
  }
  return rules;
}

net::NetPolicy get_policy(ByteReader& from) {
  net::NetPolicy policy;
  const auto base = from.number<std::uint8_t>();
  if (base > static_cast<std::uint8_t>(net::NetBase::kAll)) from.refuse();
  policy.base = static_cast<net::NetBase>(base);
  policy.allow = get_rules(from);
  policy.deny = get_rules(from);
  policy.allow_wins = get_flag(from);
  const auto budgets = from.number<std::uint8_t>();
  if (budgets > (kHasBytesOut | kHasConnections | kHasNames)) from.refuse();
  if ((budgets & kHasBytesOut) != 0) policy.budgets.bytes_out = from.number<std::uint64_t>();
  if ((budgets & kHasConnections) != 0) policy.budgets.connections = from.number<std::uint64_t>();
  if ((budgets & kHasNames) != 0) policy.budgets.names = from.number<std::uint64_t>();
  return policy;
}

std::int64_t get_time(ByteReader& from) {
  const auto time = from.number<std::uint64_t>();
  if (time > static_cast<std::uint64_t>(INT64_MAX)) from.refuse();
  return static_cast<std::int64_t>(time & static_cast<std::uint64_t>(INT64_MAX));
}

NetDecision get_decision(ByteReader& from) {
  NetDecision decision;
  const auto what = from.number<std::uint8_t>();
  if (what != static_cast<std::uint8_t>(NetDecision::What::kConnect) &&
      what != static_cast<std::uint8_t>(NetDecision::What::kResolve)) {
    from.refuse();
  } else {
    decision.what = static_cast<NetDecision::What>(what);
  }
  decision.allowed = get_flag(from);
  decision.name = get_printable(from, kMaxNameText);
  decision.address = get_printable(from, kMaxAddressText);
  decision.port = from.number<std::uint16_t>();
  decision.rule = get_printable(from, kMaxRuleText);
  decision.count = from.number<std::uint64_t>();
  decision.bytes_out = from.number<std::uint64_t>();
  decision.bytes_in = from.number<std::uint64_t>();
  decision.first_ms = get_time(from);
  decision.last_ms = get_time(from);
  return decision;
}

NetTotals get_totals(ByteReader& from) {
  NetTotals totals;
  totals.bytes_out = from.number<std::uint64_t>();
  totals.bytes_in = from.number<std::uint64_t>();
  totals.connections = from.number<std::uint64_t>();
  totals.denied = from.number<std::uint64_t>();
  totals.names = from.number<std::uint64_t>();
  totals.open = from.number<std::uint32_t>();
  totals.spent = from.number<std::uint8_t>();
  constexpr auto kAllBudgets = static_cast<std::uint8_t>(NetBudget::kBytesOut) |
                               static_cast<std::uint8_t>(NetBudget::kConnections) |
                               static_cast<std::uint8_t>(NetBudget::kNames);
  if (totals.spent > kAllBudgets) from.refuse();
  return totals;
}

Result<GatewayReply> get_report(ByteReader& from) {
  const auto seq = from.number<std::uint32_t>();
  auto id = get_id(from);
  const NetTotals totals = get_totals(from);
  const auto count = from.number<std::uint32_t>();
  if (!id || !from.good() || count > kMaxDecisions) return malformed_gateway();
  std::vector<NetDecision> decisions;
  for (std::uint32_t i = 0; i < count && from.good(); ++i) decisions.push_back(get_decision(from));
  const auto left_out = from.number<std::uint64_t>();
  if (!from.finished()) return malformed_gateway();
  return NetworkReport{seq, std::move(*id), totals, std::move(decisions), left_out};
}

Result<GatewayReply> get_network_list(ByteReader& from) {
  NetworksListed listed;
  listed.seq = from.number<std::uint32_t>();
  const auto count = from.number<std::uint32_t>();
  if (!from.good() || count > kMaxNetworks) return malformed_gateway();
  for (std::uint32_t i = 0; i < count; ++i) {
    auto id = get_id(from);
    if (!id) return malformed_gateway();
    listed.ids.push_back(std::move(*id));
  }
  if (!from.finished()) return malformed_gateway();
  return listed;
}

}  // namespace

std::vector<std::byte> encode(const GatewayRequest& request) {
  return std::visit(GatewayEncoder{}, request);
}
std::vector<std::byte> encode(const GatewayReply& reply) {
  return std::visit(GatewayEncoder{}, reply);
}

Result<GatewayRequest> decode_gateway_request(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxGatewayMessage || from.number<std::uint8_t>() != kGatewayProtocol) {
    return malformed_gateway();
  }
  const auto kind = from.number<std::uint8_t>();
  const auto seq = from.number<std::uint32_t>();
  if (kind == kGatewayList) {
    if (!from.finished()) return malformed_gateway();
    return ListNetworks{seq};
  }
  auto id = get_id(from);
  if (!id) return malformed_gateway();
  switch (kind) {
    case kGatewayOpen: {
      std::string tenant = get_printable(from, kMaxTenant);
      net::NetPolicy policy = get_policy(from);
      const bool is_build = get_flag(from);
      if (!from.finished()) return malformed_gateway();
      return OpenNetwork{seq, std::move(*id), std::move(tenant), std::move(policy), is_build};
    }
    case kGatewayChange: {
      net::NetPolicy policy = get_policy(from);
      if (!from.finished()) return malformed_gateway();
      return ChangePolicy{seq, std::move(*id), std::move(policy)};
    }
    case kGatewayRead: {
      const bool close = get_flag(from);
      if (!from.finished()) return malformed_gateway();
      return ReadNetwork{seq, std::move(*id), close};
    }
    default:
      return malformed_gateway();
  }
}

Result<GatewayReply> decode_gateway_reply(std::span<const std::byte> bytes) {
  ByteReader from(bytes);
  if (bytes.size() > kMaxGatewayMessage || from.number<std::uint8_t>() != kGatewayProtocol) {
    return malformed_gateway();
  }
  switch (from.number<std::uint8_t>()) {
    case kGatewayDone: {
      const GatewayDone done{from.number<std::uint32_t>()};
      if (!from.finished()) return malformed_gateway();
      return done;
    }
    case kGatewayRefused: {
      NetworkRefused refused;
      refused.seq = from.number<std::uint32_t>();
      const auto code = from.number<std::uint8_t>();
      refused.code = code >= 1 && code <= static_cast<std::uint8_t>(Errc::kInternal)
                         ? static_cast<Errc>(code)
                         : Errc::kInternal;
      refused.message = from.text(kMaxRefusalText);
      if (!from.finished()) return malformed_gateway();
      return refused;
    }
    case kGatewayReport:
      return get_report(from);
    case kGatewayListed:
      return get_network_list(from);
    case kGatewayDecided: {
      auto id = get_id(from);
      NetDecision decision = get_decision(from);
      if (!id || !from.finished()) return malformed_gateway();
      return NetworkDecided{std::move(*id), std::move(decision)};
    }
    default:
      return malformed_gateway();
  }
}

}  // namespace glovebox::wire
