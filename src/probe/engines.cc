#include "probe/engines.h"

#include <utility>

namespace glovebox::probe {

namespace {

void list(std::string& text, const std::string& item) {
  if (!text.empty()) text += ", ";
  text += item;
}

EngineOutlook judge_jail(const HostFacts& host) {
  EngineOutlook jail{.name = "jail"};
  if (!host.rehearsal.ok()) {
    jail.why = "a test jail could not be built: " + host.rehearsal.why();
    return jail;
  }
  std::string missing;
  if (host.rehearsal_way == Way::kUserNamespace) list(missing, "root (this is rootless)");
  if (!host.user_namespaces.uid_slice.ok()) list(missing, "own uid slice");
  for (const NamespaceTrial& trial : host.namespaces.trials) {
    if (!trial.attempt.ok()) list(missing, trial.name + " namespace");
  }
  if (!host.seccomp.filter.ok()) list(missing, "seccomp");
  for (const ControllerTrial& trial : host.cgroups.controllers) {
    // RLIMIT_NPROC counts by user namespace, so it bounds a jail as the pids controller does.
    if (!trial.attempt.ok() && trial.name != "pids") list(missing, trial.name + " limit");
  }
  jail.strength =
      missing.empty() ? EngineOutlook::Strength::kFull : EngineOutlook::Strength::kPartial;
  jail.why = missing.empty() ? "all namespaces, own uid slice, seccomp, memory, pids and CPU limits"
                             : "without: " + missing;
  // On top, and said, but not part of the grade.
  if (!host.landlock.enforced.ok() || host.landlock.abi == 0) jail.why += "; no Landlock";
  if (!host.mounts.overlay_on_idmapped.ok())
    jail.why += "; files appear as owned by nobody (uid 65534)";
  return jail;
}

EngineOutlook judge_process(const HostFacts& host) {
  EngineOutlook process{.name = "process"};
  if (!host.seccomp.filter.ok()) {
    process.why = "seccomp: " + host.seccomp.filter.why();
    return process;
  }
  const bool landlock = host.landlock.abi > 0 && host.landlock.enforced.ok();
  process.strength = landlock ? EngineOutlook::Strength::kFull : EngineOutlook::Strength::kPartial;
  process.why = landlock ? "rlimits, seccomp, Landlock" : "rlimits and seccomp, no Landlock";
  process.why += "; a convenience, not a security boundary, used only when asked for";
  return process;
}

}  // namespace

std::vector<EngineOutlook> judge_engines(const HostFacts& host) {
  return {judge_jail(host), judge_process(host)};
}

}  // namespace glovebox::probe
