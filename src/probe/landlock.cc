#include "probe/landlock.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace glovebox::probe {

namespace {

constexpr int kScopingAbi = 6;  // abstract sockets and signals, Linux 6.12

Attempt deny_a_write() {
  const landlock_ruleset_attr rules{.handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE};
  const UniqueFd ruleset(
      static_cast<int>(::syscall(SYS_landlock_create_ruleset, &rules, sizeof rules, 0)));
  if (!ruleset) return Attempt::failed("create a ruleset");
  // Control: without it the write is allowed, so a denial below is Landlock's.
  if (!UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC))) {
    return Attempt::failed("open /dev/null");
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Attempt::failed("no_new_privs");
  if (::syscall(SYS_landlock_restrict_self, ruleset.get(), 0) != 0) {
    return Attempt::failed("restrict self");
  }
  if (UniqueFd(::open("/dev/null", O_WRONLY | O_CLOEXEC))) {
    return Attempt::failed("a forbidden write was allowed", -1);
  }
  return errno == EACCES ? Attempt::worked() : Attempt::failed("open a forbidden file");
}

}  // namespace

LandlockFacts probe_landlock() {
  LandlockFacts facts;
  const long abi =
      ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (abi <= 0) {
    facts.error = errno;
    return facts;
  }
  facts.abi = static_cast<int>(abi);
  facts.enforced = attempt_in_helper(deny_a_write);
  return facts;
}

void explain(const LandlockFacts& facts, Findings& findings) {
  Finding finding{"landlock", "abi", State::kOk, "", ""};
  if (facts.abi == 0) {
    finding.state = State::kWarn;
    const bool off = facts.error == EOPNOTSUPP;
    finding.detail = off                     ? "built in, but not enabled"
                     : facts.error == ENOSYS ? "this kernel does not have it"
                                             : Error::from_errno("refused", facts.error).message();
    finding.detail += "; one wall less, but the same grade";
    finding.fix = off ? "add landlock to the lsm= list of the kernel command line"
                      : "use kernel 5.13 or later with CONFIG_SECURITY_LANDLOCK";
  } else if (!facts.enforced.ok()) {
    finding.state = State::kMissing;
    finding.detail = "ABI " + std::to_string(facts.abi) + ", but: " + facts.enforced.why();
    finding.fix = "please report this: the kernel claims to have Landlock and does not enforce it";
  } else if (facts.abi < kScopingAbi) {
    finding.state = State::kWarn;
    finding.detail = "ABI " + std::to_string(facts.abi) +
                     ", a write was denied; without scoping of signals and abstract sockets";
    finding.fix = "kernel 6.12 or later has it; namespaces separate guests anyway";
  } else {
    finding.detail = "ABI " + std::to_string(facts.abi) + ", a write was denied";
  }
  findings.push_back(std::move(finding));
}

}  // namespace glovebox::probe
