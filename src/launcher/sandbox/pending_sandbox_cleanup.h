// Sandboxes that are dead but not gone: their memory cgroups still count something, or somebody is
// in their cgroups still, a zygote's process that never arrived. Cleaned up after a moment, a few
// at a time, so that those who live do not wait for it.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>

#include "launcher/sandbox/sandbox.h"

namespace glovebox::launcher {

class Graves {
 public:
  // Called for one whose cgroups have become empty here: its slice may be used again.
  using Release = std::function<void(const Sandbox&)>;

  void add(Sandbox sandbox);
  void clean_up(std::size_t most, const Release& release);
  // At the end: all of them, now.
  void clean_up_all(const Release& release);
  std::optional<Clock::time_point> next_due() const;

 private:
  struct Grave {
    Sandbox sandbox;
    Clock::time_point due;
  };
  bool clean_up_one(Grave& grave, const Release& release);
  std::deque<Grave> graves_;
};

}  // namespace glovebox::launcher
