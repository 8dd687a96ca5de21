// Pipes for splicing, lent while data is on its way and given back empty: a thousand relays that
// are silent have none. Bounded, for all and for each sandbox; who gets none copies instead.
#pragma once

#include <cstddef>
#include <vector>

#include "base/unique_fd.h"

namespace glovebox::gateway {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
  explicit operator bool() const { return static_cast<bool>(read); }
};

class PipePool {
 public:
  // Asked for: what an ordinary user may have in one, and in 64 of them; beyond that the kernel
  // gives less. A bigger one means fewer wake-ups of everybody: 200 ms of CPU for a gigabyte
  // instead of 280 with a quarter of it.
  static constexpr std::size_t kPipeBytes = 1024 * 1024;
  static constexpr std::size_t kMaxIdle = 16;

  explicit PipePool(std::size_t max_lent = 1024) : max_lent_(max_lent) {}

  // Empty if there is none to be had.
  Pipe take();
  // Whoever gives back one that is not empty says so: nobody else may get those bytes.
  void give_back(Pipe pipe, bool is_empty);
  std::size_t lent() const { return lent_; }

 private:
  std::size_t max_lent_;
  std::size_t lent_ = 0;
  std::vector<Pipe> idle_;
};

}  // namespace glovebox::gateway
