#include "probe/host_limits/limits.h"

#include <sys/resource.h>

#include <algorithm>

#include "probe/host_limits/host_totals.h"
#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

struct Want {
  const char* sysctl;
  std::int64_t enough;     // below this: a warning
  std::int64_t recommend;  // what the fix sets
  const char* why;
};

// Enough for 200 sandboxes at once, which is what `make bench` runs.
constexpr Want kWants[] = {
    {"kernel.pid_max", 32768, 4194304, "counts every process of this host"},
    {"user.max_user_namespaces", 1024, 65536, "each sandbox takes two"},
    {"user.max_mnt_namespaces", 1024, 65536, "each sandbox takes one"},
    {"user.max_pid_namespaces", 1024, 65536, "each sandbox takes one"},
    {"user.max_net_namespaces", 1024, 65536, "each sandbox takes one"},
    {"user.max_ipc_namespaces", 1024, 65536, "each sandbox takes one"},
    {"user.max_uts_namespaces", 1024, 65536, "each sandbox takes one"},
    {"user.max_cgroup_namespaces", 1024, 65536, "each sandbox takes one"},
};
constexpr std::uint64_t kEnoughFiles = 4096;
constexpr std::uint32_t kSandboxesOfPids = 200;
constexpr std::uint32_t kDefaultPids = 128;  // of a sandbox: Limits in model/limits.h

Finding of_ceiling(const Want& want, std::int64_t value) {
  Finding finding{"limits", want.sysctl, State::kOk, std::to_string(value), ""};
  if (value >= want.enough) return finding;
  finding.state = State::kWarn;
  finding.detail += std::string(", small: ") + want.why;
  const std::string line = std::string(want.sysctl) + "=" + std::to_string(want.recommend);
  finding.fix =
      "sudo sysctl -w " + line + "   (to make it permanent: /etc/sysctl.d/60-glovebox.conf)";
  return finding;
}

// A sandbox that makes all the processes it may takes them from the others.
Finding of_sandbox_pids(std::uint32_t pids) {
  const std::uint32_t sandboxes = pids / kDefaultPids;
  Finding finding{"limits", "processes of sandboxes", State::kOk,
                  std::to_string(pids) + " together: " + std::to_string(sandboxes) +
                      " sandboxes that use their default limit of " + std::to_string(kDefaultPids),
                  ""};
  if (sandboxes >= kSandboxesOfPids) return finding;
  finding.state = State::kWarn;
  finding.fix =
      "raise kernel.pid_max, kernel.threads-max or the pids limit of this container: sudo sysctl "
      "-w kernel.pid_max=4194304";
  return finding;
}

}  // namespace

std::string sysctl_path(const std::string& name) {
  std::string path = "/proc/sys/" + name;
  std::replace(path.begin(), path.end(), '.', '/');
  return path;
}

LimitFacts probe_limits() {
  LimitFacts facts;
  for (const Want& want : kWants) {
    facts.ceilings.push_back({want.sysctl, read_number(sysctl_path(want.sysctl))});
  }
  facts.tables = read_host_tables();
  facts.sandbox_pids = pids_for_sandboxes(probe_host_sizes(detect_cgroup_layout()));
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    facts.open_files_soft = files.rlim_cur;
    facts.open_files_hard = files.rlim_max;
  }
  return facts;
}

void explain(const LimitFacts& facts, Findings& findings) {
  explain(facts.tables, findings);
  std::optional<std::int64_t> least;  // namespaces that have room share one line
  for (const SysctlLimit& ceiling : facts.ceilings) {
    const Want* want = std::find_if(std::begin(kWants), std::end(kWants), [&](const Want& known) {
      return ceiling.sysctl == known.sysctl;
    });
    // Masked /proc: what cannot be read is not guessed.
    if (want == std::end(kWants) || !ceiling.value) continue;
    Finding finding = of_ceiling(*want, *ceiling.value);
    if (finding.state == State::kOk && ceiling.sysctl.starts_with("user.")) {
      least = std::min(least.value_or(*ceiling.value), *ceiling.value);
      continue;
    }
    findings.push_back(std::move(finding));
  }
  if (least) {
    findings.push_back({"limits", "user.max_*_namespaces", State::kOk,
                        std::to_string(*least) + " or more of each kind", ""});
  }
  if (facts.sandbox_pids != 0) findings.push_back(of_sandbox_pids(facts.sandbox_pids));
  const bool enough = facts.open_files_hard >= kEnoughFiles;
  findings.push_back(
      {"limits", "open files", enough ? State::kOk : State::kWarn,
       std::to_string(facts.open_files_soft) + ", up to " + std::to_string(facts.open_files_hard),
       enough ? "" : "raise it: ulimit -n 65536 as root, or LimitNOFILE= in the service"});
}

}  // namespace glovebox::probe
