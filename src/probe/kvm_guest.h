// The test guest itself: a virtual machine with a few pages of memory and one CPU in 64-bit mode
// that adds up a counted loop. For a helper process, which takes the machine down by ending.
#pragma once

#include <chrono>
#include <cstdint>

#include "probe/attempt.h"
#include "probe/kvm.h"

namespace glovebox::probe {

#if defined(__x86_64__)
inline constexpr bool kCanRunGuest = true;
#else
inline constexpr bool kCanRunGuest = false;
#endif

// Runs `rounds` of the guest's loop for at most `time`; a guest that is stopped by it is no
// failure, and `run` says how far it came. Fails where KVM refuses a step, with the step's name.
Attempt run_counting_guest(std::uint32_t rounds, std::chrono::milliseconds time, GuestRun& run);

// The same loop on this CPU without KVM.
double native_seconds_per_round(std::uint32_t rounds);

}  // namespace glovebox::probe
