// KVM, proven by running a guest: a counted loop in 64-bit mode whose result is checked and whose
// time is compared with the same loop run natively. /dev/kvm that opens says little: nested and
// software variants of KVM exist that open, run a few instructions right, and are thousands of
// times too slow for any kernel to boot.
#pragma once

#include <cstdint>
#include <string>

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

// What the guest did.
struct GuestRun {
  std::uint64_t rounds = 0;  // of the loop, as far as it came
  bool finished = false;     // came to its `out` and `hlt`
  bool right = false;        // finished, and the sum it computed is right
  double seconds = 0;
};

struct KvmFacts {
  enum class Verdict : std::uint8_t {
    kWorks,
    kBusy,  // ran at a fair speed, and was not done in time
    kTooSlow,
    kWrong,    // computed a wrong result
    kRefused,  // by the device's mode, or by KVM
    kAbsent,
    kUnproven,  // opens, and we have no guest for this architecture
  };
  Verdict verdict = Verdict::kAbsent;
  bool opened = false;  // /dev/kvm
  std::string detail{};
  double slowdown = 0;  // guest time per round over native time per round; 0: no guest ran
};

KvmFacts probe_kvm();
void explain(const KvmFacts& facts, Findings& findings);

// Told apart from the running, for tests: what a run and the native speed add up to.
KvmFacts judge_guest(const GuestRun& run, double native_seconds_per_round);
// The sum the loop computes: 1 + 2 + ... + rounds, in 32 bits.
std::uint32_t expected_sum(std::uint32_t rounds);

}  // namespace glovebox::probe
