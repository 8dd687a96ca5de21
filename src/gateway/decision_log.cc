#include "gateway/decision_log.h"

namespace glovebox::gateway {
namespace {

// No field contains the separator: names, addresses and rules are printable.
std::string kind_of(const wire::NetDecision& decision) {
  std::string kind;
  kind.reserve(decision.name.size() + decision.address.size() + decision.rule.size() + 16);
  kind += static_cast<char>('0' + static_cast<int>(decision.what));
  kind += decision.allowed ? '+' : '-';
  for (const std::string* text : {&decision.name, &decision.address, &decision.rule}) {
    kind += *text;
    kind += '\n';
  }
  kind += std::to_string(decision.port);
  return kind;
}

}  // namespace

std::optional<DecisionLog::Index> DecisionLog::note(wire::NetDecision decision,
                                                    std::int64_t now_ms) {
  if (decision.rule.size() > wire::kMaxRuleText) decision.rule.resize(wire::kMaxRuleText);
  std::string kind = kind_of(decision);
  if (const auto found = by_kind_.find(kind); found != by_kind_.end()) {
    wire::NetDecision& known = decisions_[found->second];
    ++known.count;
    known.last_ms = now_ms;
    return found->second;
  }
  if (decisions_.size() >= wire::kMaxDecisions || (!decision.allowed && denied_ >= kMaxDenied)) {
    ++left_out_;
    return std::nullopt;
  }
  if (!decision.allowed) ++denied_;
  decision.count = 1;
  decision.first_ms = decision.last_ms = now_ms;
  const Index index = decisions_.size();
  decisions_.push_back(std::move(decision));
  by_kind_.emplace(std::move(kind), index);
  if (on_first) on_first(decisions_[index]);
  return index;
}

void DecisionLog::add_bytes(std::optional<Index> index, std::uint64_t out, std::uint64_t in) {
  if (!index) return;
  decisions_[*index].bytes_out += out;
  decisions_[*index].bytes_in += in;
}

}  // namespace glovebox::gateway
