#include "probe/user_namespaces.h"

#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

// The first two slices of the policy's default range: one for the nursery, one below it.
constexpr const char* kNurseryMap = "0 1879048192 131072";
constexpr const char* kSandboxMap = "0 65536 65536";
constexpr uid_t kGuest = 1000;

Attempt create_as_ordinary_user() {
  // Where it fails (root of a container without that uid) we are hardly more than ordinary anyway.
  (void)become_ordinary_user();
  const uid_t uid = ::geteuid();
  Attempt made = enter_own_user_namespace();
  made.value = uid;
  return made;
}

bool may_map_root(std::uint64_t capabilities) { return (capabilities >> CAP_SETFCAP & 1) != 0; }

// In a namespace: become its root, or whom it maps.
bool become(uid_t id) {
  return ::setgroups(0, nullptr) == 0 && ::setresgid(id, id, id) == 0 &&
         ::setresuid(id, id, id) == 0 && ::geteuid() == id;
}

// Clones a child into a user namespace, maps it from outside, and lets it do `inside`.
Attempt in_mapped_namespace(const char* map, const std::function<bool()>& inside,
                            const char* failed_inside) {
  int ends[2];
  if (::pipe(ends) != 0) return Attempt::failed("pipe");
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork_into(CLONE_NEWUSER);
  if (child < 0) return Attempt::failed("create a user namespace");
  if (child == 0) {
    write_end.reset();
    char go = 0;
    // End of file instead of a byte: the maps could not be written.
    if (::read(read_end.get(), &go, 1) != 1) ::_exit(2);
    ::_exit(inside() ? 0 : 1);
  }
  const std::string process = "/proc/" + std::to_string(child);
  Attempt result = Attempt::worked();
  if (const int uid_err = write_text(process + "/uid_map", map); uid_err != 0) {
    result = Attempt::failed("write uid_map", uid_err);
  } else if (const int gid_err = write_text(process + "/gid_map", map); gid_err != 0) {
    result = Attempt::failed("write gid_map", gid_err);
  } else if (::write(write_end.get(), "g", 1) != 1) {
    result = Attempt::failed("start the child");
  }
  write_end.reset();
  const int status = wait_for_child(child);
  if (result.ok() && status != 0) return Attempt::failed(failed_inside, -1);
  return result;
}

// As the jail does it: a nursery with a block of uids, in it a sandbox with a slice of the block.
Attempt map_a_slice() {
  return in_mapped_namespace(
      kNurseryMap,
      [] {
        if (!become(0)) return false;
        // Changing ids hid our /proc files from ourselves; the nested child inherits this.
        ::prctl(PR_SET_DUMPABLE, 1);
        return in_mapped_namespace(
                   kSandboxMap, [] { return become(0) && become(kGuest); }, "no slice uid")
            .ok();
      },
      "a user namespace nested in one with its own uids was refused");
}

}  // namespace

UserNamespaceFacts probe_user_namespaces(const KernelFacts& kernel) {
  UserNamespaceFacts facts;
  facts.is_root = kernel.euid == 0;
  facts.ordinary_user = attempt_in_helper(create_as_ordinary_user);
  facts.uid_slice = attempt_in_helper(map_a_slice);
  facts.switches = {
      .unprivileged_userns_clone = read_number("/proc/sys/kernel/unprivileged_userns_clone"),
      .apparmor_restrict_unprivileged_userns =
          read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
      .max_user_namespaces = read_number("/proc/sys/user/max_user_namespaces"),
      .under_seccomp = kernel.under_seccomp,
      .root_without_setfcap = facts.is_root && !may_map_root(kernel.capabilities),
  };
  return facts;
}

FailureCause cause_of_failure(const Attempt& attempt, const UserNamespaceSwitches& switches) {
  if (switches.max_user_namespaces == 0) {
    return {"user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=65536"};
  }
  if (switches.unprivileged_userns_clone == 0) {
    return {"kernel.unprivileged_userns_clone is 0",
            "sudo sysctl -w kernel.unprivileged_userns_clone=1"};
  }
  // AppArmor lets the namespace be made and then denies every capability in it, so what fails is
  // the map, or what comes after it.
  if (switches.apparmor_restrict_unprivileged_userns.value_or(0) != 0) {
    return {"AppArmor forbids it (kernel.apparmor_restrict_unprivileged_userns is 1)",
            "give glovebox an AppArmor profile with `userns,`, or sudo sysctl -w "
            "kernel.apparmor_restrict_unprivileged_userns=0"};
  }
  if (attempt.error == ENOSPC || attempt.error == EUSERS) {
    return {"this user has reached its limit of namespaces",
            "sudo sysctl -w user.max_user_namespaces=65536"};
  }
  if (attempt.error == EPERM && switches.root_without_setfcap && attempt.value == 0) {
    return {"uid 0 without CAP_SETFCAP may not map itself",
            "run as an ordinary user, or give the container CAP_SETFCAP"};
  }
  if (attempt.error == EPERM && switches.under_seccomp) {
    return {"the seccomp filter of the container forbids it",
            "start the container with --security-opt seccomp=unconfined"};
  }
  if (attempt.error == EPERM) {
    return {"forbidden for an unknown reason (a chroot, a security module?)",
            "see the kernel log (dmesg, journalctl -k)"};
  }
  return {"", ""};
}

void explain(const UserNamespaceFacts& facts, Findings& findings) {
  Finding ordinary{"user namespaces", "unprivileged", State::kOk, "", ""};
  if (facts.ordinary_user.ok()) {
    ordinary.detail = "created and mapped as uid " + std::to_string(facts.ordinary_user.value);
  } else {
    const FailureCause cause = cause_of_failure(facts.ordinary_user, facts.switches);
    // Root's jail does not need it; an ordinary user has nothing without it.
    ordinary.state = facts.is_root ? State::kWarn : State::kMissing;
    ordinary.detail = facts.ordinary_user.why();
    if (!cause.reason.empty()) ordinary.detail += " (" + cause.reason + ")";
    ordinary.fix = cause.fix;
  }
  findings.push_back(std::move(ordinary));

  if (facts.uid_slice.ok()) {
    findings.push_back(
        {"user namespaces", "uid slice", State::kOk, "nested twice, with 65536 host uids", ""});
  } else if (!facts.is_root) {
    findings.push_back(
        {"user namespaces", "uid slice", State::kWarn,
         "needs root; without it runs have your own uid, and sessions too unless you "
         "have subordinate ids",
         "run as root for grade jail"});
  } else {
    findings.push_back(
        {"user namespaces", "uid slice", State::kMissing, facts.uid_slice.why(),
         facts.uid_slice.error == ENOSPC
             ? "sudo sysctl -w user.max_user_namespaces=65536"
             : "run directly on the host: the uids from 1879048192 must be mapped here"});
  }
}

}  // namespace glovebox::probe
