// Runs the attacks of the table inside sandboxes and judges their results. Used by `glovebox
// attack` and by the escape tests, which also run the controls. The caller chooses how a sandbox is
// run, by a callback; the usual one starts the `glovebox` program.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attack/attack_table.h"
#include "attack/attack_targets.h"
#include "attack/child_process.h"
#include "attack/verdict.h"
#include "base/result.h"

namespace glovebox::attack {

inline constexpr int kGloveboxFailed = 125;  // the exit status of a `glovebox` that failed itself

struct SandboxRequest {
  std::string program = "/home/user/a";  // where the attacks are inside
  std::vector<std::string> arguments{};
  std::vector<std::string> flags{};  // of `glovebox run`
  Inheritance inherits{};
  std::chrono::milliseconds limit{60000};
  std::function<void()>
      when_ready{};  // as in Command; then nothing but exit status and output is known
};

using RunSandboxed = std::function<Result<SandboxReport>(const SandboxRequest&)>;

// Runs `glovebox run --engine ENGINE` with the attacks copied in.
RunSandboxed sandboxes_of_program(std::string glovebox, std::string attacks, std::string engine);

class AttackRunner {
 public:
  static Result<std::unique_ptr<AttackRunner>> make(std::string attacks_program, RunSandboxed run);

  const std::vector<AttackRow>& rows() const { return rows_; }

  // The attack where nothing stops it: kBroken is what a working attack gives, kKernelLacks where
  // this kernel has nothing to attack. Needs root.
  Verdict control(const AttackRow& row) const;
  // The attack inside. Does not ask for the control first.
  Verdict attack(const AttackRow& row) const;
  // For `glovebox attack`: attacks for which the kernel lacks a feature are listed and not counted;
  // all others are tried.
  Verdict judge(const AttackRow& row) const;

 private:
  AttackRunner(std::string program, RunSandboxed run, std::vector<AttackRow> rows,
               std::unique_ptr<AttackTargets> targets);
  SandboxRequest request_for(const AttackRow& row, const std::string& step,
                             const std::string& token) const;
  Verdict attack_once(const AttackRow& row) const;
  Verdict attack_survivor(const AttackRow& row) const;
  Verdict attack_neighbour(const AttackRow& row) const;
  Verdict check_outside(const AttackRow& row, const std::string& token) const;

  std::string program_;
  RunSandboxed run_;
  std::vector<AttackRow> rows_;
  std::unique_ptr<AttackTargets> targets_;
};

}  // namespace glovebox::attack
