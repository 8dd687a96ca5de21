// Everything the probes find out about this host, in one value.
#pragma once

#include "probe/attempt.h"
#include "probe/cgroups/cgroups.h"
#include "probe/finding.h"
#include "probe/host_limits/limits.h"
#include "probe/kernel.h"
#include "probe/kvm.h"
#include "probe/landlock.h"
#include "probe/mounts.h"
#include "probe/namespaces.h"
#include "probe/network.h"
#include "probe/programs.h"
#include "probe/seccomp.h"
#include "probe/subordinate_ids.h"
#include "probe/user_namespaces.h"

namespace glovebox::probe {

struct HostFacts {
  KernelFacts kernel{};
  NamespaceFacts namespaces{};
  UserNamespaceFacts user_namespaces{};
  SubordinateFacts subordinate_ids{};
  SeccompFacts seccomp{};
  LandlockFacts landlock{};
  NetworkFacts network{};
  MountFacts mounts{};
  CgroupFacts cgroups{};
  Attempt rehearsal{};
  Way rehearsal_way = Way::kDirect;
  LimitFacts limits{};
  KvmFacts kvm{};
  ProgramFacts programs{};
};

// Takes under two seconds, forks helpers, needs one thread, and leaves nothing behind.
HostFacts probe_host();

// In the order people read them.
Findings explain_host(const HostFacts& host);

}  // namespace glovebox::probe
