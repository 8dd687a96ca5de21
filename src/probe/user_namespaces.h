// User namespaces: may an ordinary user create one, can a sandbox have host uids of its own, and if
// not, which of the distributions' many switches forbids it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "probe/attempt.h"
#include "probe/finding.h"
#include "probe/kernel.h"

namespace glovebox::probe {

// The switches, as the kernel shows them; absent where this kernel has no such switch.
struct UserNamespaceSwitches {
  std::optional<std::int64_t> unprivileged_userns_clone{};              // Debian, Arch: 0 forbids
  std::optional<std::int64_t> apparmor_restrict_unprivileged_userns{};  // Ubuntu: 1 forbids
  std::optional<std::int64_t> max_user_namespaces{};                    // 0 forbids, to root too
  bool under_seccomp = false;         // a container's filter is on us
  bool root_without_setfcap = false;  // uid 0 may then not even map itself (since Linux 5.12)
};

struct UserNamespaceFacts {
  // A user namespace made and mapped by uid 65534, or by us where we cannot become it; `value` is
  // the uid it was tried as.
  Attempt ordinary_user{};
  Attempt uid_slice{};  // 65,536 unused uids, mapped, and a second level inside
  UserNamespaceSwitches switches{};
  bool is_root = false;
};

UserNamespaceFacts probe_user_namespaces(const KernelFacts& kernel);
void explain(const UserNamespaceFacts& facts, Findings& findings);

struct FailureCause {
  std::string reason{};
  std::string fix{};
};
// Why an ordinary user's attempt failed, from its error and the switches.
FailureCause cause_of_failure(const Attempt& attempt, const UserNamespaceSwitches& switches);

}  // namespace glovebox::probe
