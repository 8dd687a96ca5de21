// Explains to a person which connections and names a sandbox's network policy refused, and what
// would allow them. Names come from a guest and are made UTF-8 here.
#pragma once

#include <array>
#include <boost/json/fwd.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wire/network/network_json.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxRefusals = 16;

struct NetRefusal {
  std::string name{};     // empty: it was an address
  std::string address{};  // empty: the name was not resolved
  std::uint16_t port = 0;
  std::string rule{};     // of the decision
  std::string allow{};    // the rule for `--net` that would allow it; empty: none would
  std::string message{};  // one sentence
  std::int64_t last_ms = 0;
  bool operator==(const NetRefusal&) const = default;
};

// One for each target, oldest first, at most kMaxRefusals. Only what the policy or the
// administrator decided: a spent budget or a server that does not answer is none.
std::vector<NetRefusal> refusals_of(const std::vector<NetDecision>& decisions);

// Null for a time that a date of four-digit years cannot say, even if the gateway sends one.
boost::json::value gateway_time_json(std::int64_t ms);

// [{"name","address","port","rule","allow","message","last_at"}]
boost::json::array refusals_json(const std::vector<NetRefusal>& refusals);

// "network: MESSAGE; MESSAGE (and 3 more)": one line, without its end. Empty if there are none.
std::string refusals_line(const std::vector<std::string>& messages);

// Looks for the words of a failed lookup or connection in a program's error output, for the hint
// that its sandbox has no network. The guest may write them for fun: nothing but a hint may depend
// on it.
class NetworkErrorDetector {
 public:
  void add(std::string_view bytes);
  bool found() const { return found_; }

 private:
  std::string last_{};  // the end of what came before
  bool found_ = false;
};
inline constexpr std::string_view kNoNetworkHint =
    "network: this sandbox has none; --net https-only allows HTTPS, --net NAME one name";

}  // namespace glovebox::wire
