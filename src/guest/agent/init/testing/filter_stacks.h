// The generated filters, stacked as seccomp_filter.cc installs them, and an interpreter that
// answers made-up calls as the kernel's would.
#pragma once

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>

#include <array>
#include <optional>
#include <span>
#include <vector>

namespace glovebox::agent {

#include "guest_filter.inc"  // made by gen_filter

using Program = std::span<const sock_filter>;
using Call = std::array<std::uint64_t, 6>;

constexpr std::uint32_t kAllowed = SECCOMP_RET_ALLOW;
constexpr std::uint32_t refused(int error) {
  return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error);
}

// One word of the call, as a filter reads it.
inline std::uint32_t word_at(const seccomp_data& data, std::uint32_t offset) {
  std::uint32_t word = 0;
  EXPECT_LE(offset, sizeof data - sizeof word);
  EXPECT_EQ(offset % sizeof word, 0u);
  memcpy(&word, reinterpret_cast<const char*>(&data) + offset, sizeof word);
  return word;
}

// What the kernel's interpreter would return; nothing for an instruction that libseccomp does not
// write, or for a program that runs off its end.
inline std::optional<std::uint32_t> interpret(Program program, const seccomp_data& data) {
  std::uint32_t accumulator = 0;
  for (std::size_t at = 0; at < program.size(); ++at) {
    const sock_filter& op = program[at];
    const auto jump = [&](bool taken) { at += taken ? op.jt : op.jf; };
    switch (op.code) {
      case BPF_LD | BPF_W | BPF_ABS:
        accumulator = word_at(data, op.k);
        break;
      case BPF_ALU | BPF_AND | BPF_K:
        accumulator &= op.k;
        break;
      case BPF_JMP | BPF_JA:
        at += op.k;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jump(accumulator == op.k);
        break;
      case BPF_JMP | BPF_JGT | BPF_K:
        jump(accumulator > op.k);
        break;
      case BPF_JMP | BPF_JGE | BPF_K:
        jump(accumulator >= op.k);
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jump((accumulator & op.k) != 0);
        break;
      case BPF_RET | BPF_K:
        return op.k;
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

// Several filters, one upon the other: the strictest answer counts. Between two errors it is that
// of the filter which was installed last.
struct Stack {
  const char* name;
  std::vector<Program> programs;  // in the order of seccomp_filter.cc

  std::uint32_t answer(long number, const Call& arguments,
                       std::uint32_t arch = AUDIT_ARCH_X86_64) const {
    seccomp_data data{};
    data.nr = static_cast<int>(number);
    data.arch = arch;
    for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
    std::uint32_t strictest = kAllowed;
    for (auto program = programs.rbegin(); program != programs.rend(); ++program) {
      const auto action = interpret(*program, data);
      if (!action) {
        ADD_FAILURE() << name << ": a filter cannot be interpreted";
        return 0;
      }
      if ((*action & SECCOMP_RET_ACTION_FULL) < (strictest & SECCOMP_RET_ACTION_FULL)) {
        strictest = *action;
      }
    }
    return strictest;
  }
};

inline const Stack kRun{"run", {kAllow, kRefuse}};
inline const Stack kZygote{"zygote", {kRefuseZygote, kAllowZygote}};
inline const Stack kJoinedRun{"joined run", {kRefuseZygote, kAllowZygote, kJoined}};
inline const Stack kSession{"session", {kAllowSession, kRefuseSession}};
inline const Stack kSessionWithMounts{"session with mounts",
                                      {kAllowSession, kRefuseSessionWithMounts}};
inline const Stack kJoinedInSession{"joined session",
                                    {kRefuseZygote, kAllowZygote, kJoinedSession}};
inline const Stack kProcessEngine{"process engine", {kAllow, kProcess, kSignals, kRefuse}};

// Where a guest's own code runs.
inline const std::vector<const Stack*> kGuests = {
    &kRun, &kJoinedRun, &kProcessEngine, &kSession, &kSessionWithMounts, &kJoinedInSession};
inline const std::vector<const Stack*> kAll = {&kRun,     &kJoinedRun,         &kProcessEngine,
                                               &kSession, &kSessionWithMounts, &kJoinedInSession,
                                               &kZygote};

}  // namespace glovebox::agent
