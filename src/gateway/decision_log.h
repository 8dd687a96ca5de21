// The decisions for one sandbox. Equal ones (same name, address, port and rule) are one entry with
// a count. Bounded: the denied requests of a hostile sandbox cannot push out the allowed ones.
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
  // Denied entries may not fill the whole log.
  static constexpr std::size_t kMaxDenied = wire::kMaxDecisions * 3 / 4;
  using Index = std::size_t;

  // Called when an entry is added. Its bytes are not known yet then.
  std::function<void(const wire::NetDecision&)> on_first;

  // Counts one decision; `now_ms` since 1970. Nothing if the log is full and has no such entry.
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
