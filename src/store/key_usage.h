// What each key is using right now, against its limits: runs in flight, runs in the last minute,
// memory at once. In memory only, on the server's thread only; time is the caller's steady clock,
// so a jump of the wall clock neither blocks nor frees any key.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "base/error.h"
#include "store/key.h"

namespace glovebox::store {

// kResourceExhausted, or kPolicy when waiting would never help.
struct Refusal {
  Error error;                          // says which limit, and how long to wait
  std::chrono::seconds retry_after{0};  // zero: waiting does not help
};

class KeyUsage {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

 private:
  struct Use {
    std::uint32_t in_flight = 0;
    std::uint64_t memory_bytes = 0;
    std::deque<TimePoint> started;  // in the last minute; never longer than the key's limit
  };

 public:
  // A run's share of its key's limits; given back when this goes away. May outlive the KeyUsage.
  class Admission {
   public:
    Admission() = default;
    Admission(Admission&& other) noexcept;
    Admission& operator=(Admission&& other) noexcept;
    ~Admission() { release(); }
    void release() noexcept;

   private:
    friend class KeyUsage;
    Admission(std::shared_ptr<Use> use, std::uint64_t memory_bytes, std::uint32_t in_flight)
        : use_(std::move(use)), memory_bytes_(memory_bytes), in_flight_(in_flight) {}
    std::shared_ptr<Use> use_;
    std::uint64_t memory_bytes_ = 0;
    std::uint32_t in_flight_ = 0;
  };

  // A refusal costs nothing: it is not counted as a run.
  tl::expected<Admission, Refusal> admit(const Principal& who, std::uint64_t memory_bytes,
                                         TimePoint now);

  // For a session that lives on when its request is over: its memory counts and nothing else does.
  // Never refused: it is there already.
  Admission hold(const KeyId& key, std::uint64_t memory_bytes);

  std::uint32_t in_flight(const KeyId& key) const;

 private:
  std::map<KeyId, std::shared_ptr<Use>> uses_;
};

using Admission = KeyUsage::Admission;

}  // namespace glovebox::store
