// Which kernel this is and who we are on it. The release is only shown: what the kernel can do is
// found out by the other probes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "probe/attempt.h"
#include "probe/finding.h"

namespace glovebox::probe {

struct KernelFacts {
  Attempt helpers{};  // can we fork a helper at all? All other probes need it
  std::string release{};
  std::string machine{};
  uid_t euid = 0;
  std::uint64_t capabilities = 0;  // effective
  bool in_initial_user_namespace = true;
  bool under_seccomp = false;        // this process already has a seccomp filter, as in a container
  bool can_shield_from_oom = false;  // oom_score_adj -1000 was really written
};

KernelFacts probe_kernel();
void explain(const KernelFacts& facts, Findings& findings);

// What the launcher does as root, by the capability it needs; the ones not in `effective`.
std::vector<std::string> missing_launcher_capabilities(std::uint64_t effective);
// /proc/self/uid_map of the initial user namespace maps every id onto itself.
bool is_initial_uid_map(std::string_view uid_map);
// "Seccomp:" of /proc/self/status is not 0.
bool status_shows_seccomp(std::string_view status);

}  // namespace glovebox::probe
