#include "probe/host.h"

#include "probe/rehearsal.h"

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
  return findings;
}

}  // namespace glovebox::probe
