#include "attack/attack_runner.h"

#include <poll.h>

namespace glovebox::attack {
namespace {

Verdict not_tried(const AttackRow& row, std::string why) {
  return verdict_of(row, Judgement::kNotTried, std::move(why));
}

Verdict judge_out(const AttackRow& row, const SandboxReport& report, const AttackTargets& targets) {
  if (targets.has_secret(targets.taken())) {
    return verdict_of(row, Judgement::kBroken, "--out brought back what lies outside");
  }
  // Refusing to take it out is an answer; failing for another reason is none.
  const bool refused = report.exit_code == kGloveboxFailed &&
                       report.error_message.find("/home/user/out") != std::string::npos;
  if (report.exit_code != kAttackDenied && !refused) return not_tried(row, described(report));
  return verdict_of(row, Judgement::kHeld, described(report));
}

Verdict judge_plant(const AttackRow& row, const SandboxReport& report,
                    const AttackTargets& targets) {
  const std::string trouble = targets.planted_trouble(row);
  if (!trouble.empty()) return verdict_of(row, Judgement::kBroken, trouble);
  const bool refused = report.exit_code == kGloveboxFailed && report.error_code == "policy";
  if (report.exit_code != kAttackDenied && !refused) return not_tried(row, described(report));
  return verdict_of(row, Judgement::kHeld, described(report));
}

// Waits until no process of the host has `text` in its command line, at most that long.
bool all_gone(const std::string& text, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!pids_with_cmdline(text).empty()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::poll(nullptr, 0, 5);
  }
  return true;
}

}  // namespace

AttackRunner::AttackRunner(std::string program, RunSandboxed run, std::vector<AttackRow> rows,
                           std::unique_ptr<AttackTargets> targets)
    : program_(std::move(program)),
      run_(std::move(run)),
      rows_(std::move(rows)),
      targets_(std::move(targets)) {}

Result<std::unique_ptr<AttackRunner>> AttackRunner::make(std::string attacks_program,
                                                         RunSandboxed run) {
  TRY(std::vector<AttackRow> rows, load_table(attacks_program));
  TRY(std::unique_ptr<AttackTargets> targets, AttackTargets::make(attacks_program));
  return std::unique_ptr<AttackRunner>(new AttackRunner(std::move(attacks_program), std::move(run),
                                                        std::move(rows), std::move(targets)));
}

Verdict AttackRunner::control(const AttackRow& row) const {
  if (const std::string why = targets_->no_internet_for(row); !why.empty()) {
    Verdict verdict = verdict_of(row, Judgement::kKernelLacks, why);
    verdict.by = why;
    return verdict;
  }
  Command command{.argv = {program_, "control", row.name, "token=" + random_hex(8)},
                  .inherits = targets_->inheritance(row)};
  for (const std::string& word : targets_->arguments(row, Side::kOutside)) {
    command.argv.push_back(word);
  }
  auto finished = run_command(command);
  if (!finished) return not_tried(row, finished.error().message());
  const std::string said = first_line(finished->out);
  if (finished->exit_code == kAttackSucceeded) return verdict_of(row, Judgement::kBroken, said);
  if (finished->exit_code == kAttackKernelLacks)
    return verdict_of(row, Judgement::kKernelLacks, said);
  return not_tried(row,
                   "the control ended with " + std::to_string(finished->exit_code) + ": " + said);
}

Verdict AttackRunner::attack(const AttackRow& row) const {
  if (const std::string why = targets_->missing_for(row); !why.empty()) return not_tried(row, why);
  switch (row.kind) {
    case Kind::kNeighbour:
      return attack_neighbour(row);
    case Kind::kSurvivor:
      return attack_survivor(row);
    default:
      return attack_once(row);
  }
}

Verdict AttackRunner::judge(const AttackRow& row) const {
  // Bombs and the like exist on every kernel; asking for their controls would only take time.
  if (row.kind == Kind::kProbe) {
    const Verdict outside = control(row);
    if (outside.judgement == Judgement::kKernelLacks) return outside;
  }
  return attack(row);
}

SandboxRequest AttackRunner::request_for(const AttackRow& row, const std::string& step,
                                         const std::string& token) const {
  SandboxRequest request{.flags = targets_->flags(row), .inherits = targets_->inheritance(row)};
  request.arguments = {row.name};
  if (!step.empty()) request.arguments.push_back("step=" + step);
  request.arguments.push_back("token=" + token);
  for (const std::string& word : targets_->arguments(row, Side::kInside)) {
    request.arguments.push_back(word);
  }
  return request;
}

Verdict AttackRunner::attack_once(const AttackRow& row) const {
  auto report = run_(request_for(row, "", random_hex(8)));
  if (!report && report.error().code() == Errc::kUnsupported) {
    Verdict verdict = verdict_of(row, Judgement::kKernelLacks, report.error().message());
    verdict.by = verdict.detail;
    return verdict;
  }
  if (!report) return not_tried(row, report.error().message());
  if (report->hung) return verdict_of(row, Judgement::kBroken, "the run did not end");
  if (targets_->has_secret(report->out + report->err)) {
    return verdict_of(row, Judgement::kBroken, "it printed what lies outside");
  }
  switch (row.kind) {
    case Kind::kBomb:
      return judge_bomb(row, *report);
    case Kind::kOut:
      return judge_out(row, *report, *targets_);
    case Kind::kPlant:
      return judge_plant(row, *report, *targets_);
    default:
      return judge_probe(row, *report);
  }
}

Verdict AttackRunner::attack_survivor(const AttackRow& row) const {
  const std::string token = random_hex(8);
  auto report = run_(request_for(row, "", token));
  if (!report) return not_tried(row, report.error().message());
  if (report->hung) return verdict_of(row, Judgement::kBroken, "the run did not end");
  // The guest must have got as far as leaving something behind, and the run must have ended with
  // its main process rather than by its time limit.
  if (report->exit_code != kAttackDenied || report->timed_out)
    return not_tried(row, described(*report));
  if (report->out.find("left behind") == std::string::npos)
    return not_tried(row, described(*report));
  if (!all_gone("token=" + token, std::chrono::seconds(5))) {
    return verdict_of(row, Judgement::kBroken, "a process outlived its run");
  }
  return verdict_of(row, Judgement::kHeld, first_line(report->out));
}

Verdict AttackRunner::attack_neighbour(const AttackRow& row) const {
  const std::string token = random_hex(8);
  Result<SandboxReport> inside = fail(Errc::kInternal, "never asked");
  Verdict outside = verdict_of(row, Judgement::kHeld, "");
  bool checked = false;
  SandboxRequest first = request_for(row, "exhaust", token);
  first.when_ready = [&] {
    checked = true;
    inside = run_(request_for(row, "check", token));
    if (row.needs_a("host_check")) outside = check_outside(row, token);
  };
  auto exhausted = run_(first);
  if (!exhausted) return not_tried(row, exhausted.error().message());
  if (exhausted->hung) return verdict_of(row, Judgement::kBroken, "the run did not end");
  if (!checked) {
    // It got nothing that a neighbour could miss.
    if (exhausted->exit_code == kAttackDenied) {
      return verdict_of(row, Judgement::kHeld, first_line(exhausted->out));
    }
    return not_tried(row, described(*exhausted));
  }
  if (!inside) return not_tried(row, inside.error().message());
  if (outside.judgement != Judgement::kHeld) return outside;
  return judge_probe(row, *inside);
}

// The neighbour may also be the host itself.
Verdict AttackRunner::check_outside(const AttackRow& row, const std::string& token) const {
  auto finished = run_command({.argv = {program_, row.name, "step=check", "token=" + token}});
  if (!finished) return not_tried(row, finished.error().message());
  if (finished->exit_code == kAttackDenied) return verdict_of(row, Judgement::kHeld, "");
  if (finished->exit_code == kAttackSucceeded) {
    return verdict_of(row, Judgement::kBroken, "the host: " + first_line(finished->out));
  }
  return not_tried(row, "the check on the host ended with " + std::to_string(finished->exit_code));
}

}  // namespace glovebox::attack
