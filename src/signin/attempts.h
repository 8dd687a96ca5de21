// How often sign-in may fail from one network. Keys and links have too many random bits to be
// guessed; this bounds what an attempt costs the server. In memory, bounded; on the server's
// thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>

namespace glovebox::signin {

class Attempts {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kBurst = 10;               // failures in a row
  static constexpr std::chrono::seconds kForgiveness{6};  // after which one of them is forgotten
  static constexpr std::size_t kNetworks = 1024;

  // How long the network has to wait; nothing: it may try now.
  std::optional<std::chrono::seconds> must_wait(const std::string& network, TimePoint now) const;
  // Only failures count, and those with a valid key may sign in even if their network is out of
  // attempts; with a link they have to wait then.
  void count_failure(const std::string& network, TimePoint now);
  std::size_t size() const { return forgiven_at_.size(); }

 private:
  void make_room(TimePoint now);

  // When all failures of a network are forgotten.
  std::unordered_map<std::string, TimePoint> forgiven_at_;
};

}  // namespace glovebox::signin
