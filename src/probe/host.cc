#include "probe/host.h"

#include "probe/rehearsal.h"
#include "sys/landlock.h"

namespace glovebox::probe {

namespace {

// With root's means first; where that fails (an ordinary user, a container) as a user would.
void rehearse(HostFacts& host) {
  host.rehearsal_way = Way::kDirect;
  host.rehearsal = attempt_in_helper([] { return rehearse_jail(Way::kDirect); });
  if (host.rehearsal.ok()) return;
  Attempt rootless = attempt_in_helper([] { return rehearse_jail(Way::kUserNamespace); });
  // Root's own failure says more than what came after it, unless the second way works.
  if (!rootless.ok() && host.kernel.euid == 0) return;
  host.rehearsal = std::move(rootless);
  host.rehearsal_way = Way::kUserNamespace;
}

void add_image_finding(const char* name, const char* good, const std::string& gap, const char* fix,
                       Findings& findings) {
  Finding finding{"images", name, State::kOk, good, ""};
  if (!gap.empty()) {
    finding.state = State::kWarn;
    finding.detail = gap;
    finding.fix = fix;
  }
  findings.push_back(std::move(finding));
}

// Without them everything but images works.
void explain_images(const HostFacts& host, Findings& findings) {
  std::string gap;
  const char* fix = "sudo apt install python3";
  if (host.kernel.euid != 0) {
    gap = "the servers of an ordinary user have no images";
    fix = "start the server as root";
  } else if (!host.mounts.idmapped.ok()) {
    gap = "the owners of an image's files cannot be shown: no idmapped mounts";
    fix = "keep the layers on ext4, xfs or btrfs, with kernel 5.12 or later";
  } else if (host.programs.runtimes.empty() || host.programs.runtimes[0].version.empty()) {
    gap = "no /usr/bin/python3: images can be loaded, but not pulled from registries";
  }
  add_image_finding("load and pull", "possible, from the registries in images.registries", gap, fix,
                    findings);
  gap.clear();
  if (host.landlock.abi < sys::kLandlockScopes) {
    gap = "runs start cold: an image's interpreter waits only behind Landlock ABI 6";
    fix = "use kernel 6.12 or later with Landlock";
  } else if (!host.cgroups.all_limits()) {
    gap = "runs start cold: an image's interpreter waits only where cgroups limit it";
    fix = "see the lines of area cgroups";
  }
  add_image_finding("warm", "an image's own Python may wait for code", gap, fix, findings);
}

}  // namespace

HostFacts probe_host() {
  HostFacts host;
  host.kernel = probe_kernel();
  host.namespaces = probe_namespaces();
  host.user_namespaces = probe_user_namespaces(host.kernel);
  host.subordinate_ids = probe_subordinate_ids();
  host.seccomp = probe_seccomp();
  host.landlock = probe_landlock();
  host.network = probe_network();
  host.mounts = probe_mounts();
  host.cgroups = probe_cgroups();
  rehearse(host);
  host.limits = probe_limits();
  host.kvm = probe_kvm();
  host.programs = probe_programs();
  return host;
}

Findings explain_host(const HostFacts& host) {
  Findings findings;
  explain(host.kernel, findings);
  explain(host.user_namespaces, findings);
  explain(host.subordinate_ids, findings);
  explain(host.namespaces, findings);
  explain(host.seccomp, findings);
  explain(host.landlock, findings);
  explain(host.network, findings);
  explain(host.mounts, findings);
  explain(host.cgroups, findings);
  explain_rehearsal(host.rehearsal, host.rehearsal_way, findings);
  explain(host.limits, findings);
  explain(host.kvm, findings);
  explain(host.programs, findings);
  explain_images(host, findings);
  return findings;
}

}  // namespace glovebox::probe
