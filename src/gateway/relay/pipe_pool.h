// Pipes for splicing, lent while data is in transit and given back empty: a thousand silent relays
// hold none. Bounded, for all and for each sandbox; a relay that gets none copies instead.
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
  // The size an ordinary user may ask for, for up to 64 pipes; beyond that the kernel gives less. A
  // larger pipe means fewer wake-ups: 200 ms of CPU per gigabyte instead of 280 with a quarter of
  // it.
  static constexpr std::size_t kPipeBytes = 1024 * 1024;
  static constexpr std::size_t kMaxIdle = 16;

  explicit PipePool(std::size_t max_in_use = 1024) : max_in_use_(max_in_use) {}

  // Without descriptors if none is available.
  Pipe take();
  // A pipe that is not empty is closed: no other relay may get its bytes.
  void give_back(Pipe pipe, bool is_empty);
  std::size_t in_use() const { return in_use_; }

 private:
  std::size_t max_in_use_;
  std::size_t in_use_ = 0;
  std::vector<Pipe> idle_;
};

}  // namespace glovebox::gateway
