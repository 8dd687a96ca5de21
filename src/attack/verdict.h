// The result of one attack: the report of its sandbox, and the verdict.
#pragma once

#include <string>
#include <string_view>

#include "attack/attack_table.h"

namespace glovebox::attack {

struct SandboxReport {
  int exit_code = 0;
  std::string out{};
  std::string err{};
  std::string error_code{};  // why Glovebox itself failed, if it did
  std::string error_message{};
  bool timed_out = false;
  bool oom_killed = false;
  bool truncated = false;
  bool hung = false;  // `glovebox run` itself did not end in time
};

enum class Judgement {
  kHeld,
  kBroken,       // the attack succeeded
  kKernelLacks,  // nothing to attack on this kernel
  kNotTried,     // no verdict: neither a wall that held nor one that fell
};
// "stopped", "succeeded", "kernel-lacks-it" or "not-tried".
std::string_view judgement_name(Judgement judgement);

struct Verdict {
  std::string name;
  std::string aims_at;
  bool held = false;
  std::string by{};      // the wall that held, or "kernel lacks it"
  bool counted = false;  // whether it is one of those that were really tried
  std::string detail{};  // what the attack itself said
  Judgement judgement = Judgement::kNotTried;
};

Verdict verdict_of(const AttackRow& row, Judgement judgement, std::string detail);
// From the exit status of the attack itself.
Verdict judge_probe(const AttackRow& row, const SandboxReport& report);
// From how the run ended: only the outcomes the row names mean that the limit held.
Verdict judge_bomb(const AttackRow& row, const SandboxReport& report);

// A report in one line, for people.
std::string described(const SandboxReport& report);
std::string first_line(const std::string& text);

// The exit statuses of glovebox-attacks (tests/escape/attacks/attack.h).
inline constexpr int kAttackSucceeded = 42;
inline constexpr int kAttackDenied = 43;
inline constexpr int kAttackKernelLacks = 44;

}  // namespace glovebox::attack
