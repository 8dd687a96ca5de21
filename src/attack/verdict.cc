#include "attack/verdict.h"

#include <algorithm>
#include <cctype>

namespace glovebox::attack {
namespace {

constexpr int kKilledBySigsys = 128 + 31;

bool outcome_is(const std::string& word, const SandboxReport& report) {
  if (word == "timed_out") return report.timed_out;
  if (word == "oom_killed") return report.oom_killed;
  if (word == "truncated") return report.truncated;
  // What remains is an errno the attack itself met: the limit was enforced without killing a
  // process.
  const bool denied = report.exit_code == kAttackDenied && !report.oom_killed && !report.timed_out;
  if (word == "denied") return denied;
  std::string name = word;
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return denied && report.out.find(": " + name) != std::string::npos;
}

}  // namespace

std::string_view judgement_name(Judgement judgement) {
  switch (judgement) {
    case Judgement::kHeld:
      return "stopped";
    case Judgement::kBroken:
      return "succeeded";
    case Judgement::kKernelLacks:
      return "kernel-lacks-it";
    case Judgement::kNotTried:
      break;
  }
  return "not-tried";
}

std::string first_line(const std::string& text) {
  const std::string line = text.substr(0, std::min(text.find('\n'), size_t{300}));
  return line;
}

Verdict verdict_of(const AttackRow& row, Judgement judgement, std::string detail) {
  Verdict verdict{.name = row.name, .aims_at = row.aims_at, .detail = std::move(detail)};
  verdict.judgement = judgement;
  verdict.held = judgement == Judgement::kHeld || judgement == Judgement::kKernelLacks;
  verdict.counted = judgement == Judgement::kHeld || judgement == Judgement::kBroken;
  switch (judgement) {
    case Judgement::kHeld:
      verdict.by = row.held_by;
      break;
    case Judgement::kBroken:
      verdict.by = "nothing";
      break;
    case Judgement::kKernelLacks:
      verdict.by = "kernel lacks it";
      break;
    case Judgement::kNotTried:
      verdict.by = "could not be tried";
      break;
  }
  return verdict;
}

std::string described(const SandboxReport& report) {
  std::string text = "exit status " + std::to_string(report.exit_code);
  if (report.timed_out) text += ", timed out";
  if (report.oom_killed) text += ", OOM-killed";
  if (report.truncated) text += ", truncated";
  if (!report.error_code.empty()) text += ", " + report.error_code + ": " + report.error_message;
  const std::string said = first_line(report.out.empty() ? report.err : report.out);
  return said.empty() ? text : text + ": " + said.substr(0, 120);
}

Verdict judge_probe(const AttackRow& row, const SandboxReport& report) {
  if (report.exit_code == kAttackSucceeded)
    return verdict_of(row, Judgement::kBroken, first_line(report.out));
  if (report.exit_code == kAttackDenied)
    return verdict_of(row, Judgement::kHeld, first_line(report.out));
  // A filter may also answer by killing the caller.
  if (report.exit_code == kKilledBySigsys)
    return verdict_of(row, Judgement::kHeld, "killed by SIGSYS");
  return verdict_of(row, Judgement::kNotTried, described(report));
}

Verdict judge_bomb(const AttackRow& row, const SandboxReport& report) {
  for (const std::string& word : row.outcomes) {
    if (outcome_is(word, report)) return verdict_of(row, Judgement::kHeld, described(report));
  }
  if (report.exit_code == kAttackSucceeded)
    return verdict_of(row, Judgement::kBroken, described(report));
  // Something else ended it than the limit that should have: as bad, since it is not understood.
  return verdict_of(row, Judgement::kNotTried, described(report));
}

}  // namespace glovebox::attack
