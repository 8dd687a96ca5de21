// The place of one reusable sandbox among those of its kind: handed on from call to call, as its
// charge is. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "node/node_options.h"
#include "node/sandboxes/kept_runtime.h"

namespace glovebox::node {

class ReuseSlot {
 public:
  // `alive` counts the slots of this key.
  ReuseSlot(std::string key, Clock::time_point made_at, std::shared_ptr<std::uint32_t> alive)
      : key_(std::move(key)), made_at_(made_at), alive_(std::move(alive)) {
    ++*alive_;
  }
  ~ReuseSlot() { --*alive_; }
  ReuseSlot(const ReuseSlot&) = delete;
  ReuseSlot& operator=(const ReuseSlot&) = delete;

  // Everything that two calls must have in common to share a sandbox.
  const std::string& key() const { return key_; }
  Clock::time_point made_at() const { return made_at_; }
  std::uint32_t calls = 0;  // served so far
  Clock::time_point idle_since{};
  // Of calls that share an interpreter: the one that is there, between two of them. Null while a
  // call has it, before the first one, and where each call has its own.
  std::unique_ptr<KeptRuntime> kept{};

 private:
  std::string key_;
  Clock::time_point made_at_;
  std::shared_ptr<std::uint32_t> alive_;
};

}  // namespace glovebox::node
