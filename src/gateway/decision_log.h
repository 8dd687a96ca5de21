// What was decided for one sandbox, each kind once with how often: the same name, address, port and
// rule. Bounded; what a hostile sandbox makes up cannot push out what it was allowed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "wire/gateway/gateway_messages.h"

namespace glovebox::gateway {

class DecisionLog {
 public:
  // Denied kinds have not all of the places.
  static constexpr std::size_t kMaxDenied = wire::kMaxDecisions * 3 / 4;
  using Index = std::size_t;

  // Once for each kind that is kept, when it is first seen. Its bytes are not known yet then.
  std::function<void(const wire::NetDecision&)> on_first;

  // Counts one more; `now_ms` since 1970. Nothing if its kind is not kept.
  std::optional<Index> note(wire::NetDecision decision, std::int64_t now_ms);
  void add_bytes(std::optional<Index> index, std::uint64_t out, std::uint64_t in);

  const std::vector<wire::NetDecision>& decisions() const { return decisions_; }
  std::uint64_t left_out() const { return left_out_; }

 private:
  std::vector<wire::NetDecision> decisions_;
  std::unordered_map<std::string, Index> by_kind_;
  std::size_t denied_ = 0;
  std::uint64_t left_out_ = 0;
};

}  // namespace glovebox::gateway
