#include "probe/mounts.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "probe/mount_trials.h"

namespace glovebox::probe {

namespace {

bool is_link(const char* path) {
  struct stat seen {};
  return ::lstat(path, &seen) == 0 && S_ISLNK(seen.st_mode);
}

bool root_filesystem_is_overlay() {
  struct statfs seen {};
  return ::statfs("/", &seen) == 0 && seen.f_type == OVERLAYFS_SUPER_MAGIC;
}

Finding of_attempt(const char* name, const Attempt& attempt, State if_not, std::string worked,
                   std::string fix) {
  if (attempt.ok()) return {"mounts", name, State::kOk, std::move(worked), ""};
  return {"mounts", name, if_not, attempt.why(), std::move(fix)};
}

void explain_idmaps(const MountFacts& facts, Findings& findings) {
  if (facts.idmapped.ok()) {
    findings.push_back({"mounts", "idmapped", State::kOk,
                        "/usr was mounted with its owner mapped to a slice's root", ""});
    findings.push_back(of_attempt("overlay on idmapped", facts.overlay_on_idmapped, State::kWarn,
                                  "owners are kept",
                                  "use kernel 5.19 or later; until then files in the sandbox "
                                  "appear as owned by nobody (uid 65534)"));
    return;
  }
  Finding finding{
      "mounts", "idmapped", State::kWarn,
      facts.idmapped.why() + "; files in the sandbox appear as owned by nobody (uid 65534)", ""};
  if (!facts.is_root) {
    finding.detail = "needs root; files in the sandbox appear as owned by nobody (uid 65534)";
  } else if (facts.root_is_overlay) {
    finding.fix =
        "the root filesystem is an overlay, which cannot be idmapped: run directly on "
        "the host, or with /usr on a disk";
  } else if (facts.idmapped.step != kIdmapStep) {
    finding.fix = "run directly on the host: see the uid slice above";
  } else {
    finding.fix = "use kernel 5.12 or later with /usr on ext4, xfs or btrfs";
  }
  findings.push_back(std::move(finding));
}

}  // namespace

MountFacts probe_mounts() {
  MountFacts facts;
  facts.is_root = ::geteuid() == 0;
  const Way way = attempt_in_helper([] { return enter_private_mounts(Way::kDirect); }).ok()
                      ? Way::kDirect
                      : Way::kUserNamespace;
  facts.tmpfs = attempt_in_helper([way] { return try_tmpfs(way); });
  facts.overlay = attempt_in_helper([way] { return try_overlay(way); });
  facts.overlay_in_userns = attempt_in_helper([] { return try_overlay(Way::kUserNamespace); });
  facts.idmapped = attempt_in_helper(try_idmapped_usr);
  facts.overlay_on_idmapped = attempt_in_helper(try_overlay_on_idmapped_usr);
  facts.proc_of_a_pidns = attempt_in_helper(try_proc_of_another_pid_namespace);
  facts.root_is_overlay = root_filesystem_is_overlay();
  facts.usr_is_merged = is_link("/bin") && is_link("/lib");
  return facts;
}

void explain(const MountFacts& facts, Findings& findings) {
  const std::string allow = facts.is_root ? "the container must allow mounts"
                                          : "run as root, or allow user namespaces (see above)";
  findings.push_back(of_attempt("tmpfs", facts.tmpfs, State::kMissing,
                                "mounted; size and inode limits are enforced", allow));
  findings.push_back(of_attempt("overlay", facts.overlay, State::kMissing,
                                "mounted over /usr and writable",
                                facts.overlay.error == ENODEV ? "sudo modprobe overlay" : allow));
  findings.push_back(of_attempt("overlay in userns", facts.overlay_in_userns,
                                facts.is_root ? State::kWarn : State::kMissing,
                                "mounted inside a user namespace as well",
                                "needed for rootless: use kernel 5.11 or later and allow "
                                "user namespaces"));
  explain_idmaps(facts, findings);
  if (facts.proc_of_a_pidns.ok()) {
    findings.push_back(
        {"mounts", "proc pidns", State::kOk, "proc mounted for another namespace", ""});
  } else {
    findings.push_back({"mounts", "proc pidns", State::kWarn,
                        (facts.is_root ? facts.proc_of_a_pidns.why() : std::string("needs root")) +
                            "; proc is mounted before masking instead",
                        ""});
  }
  findings.push_back(
      {"mounts", "root filesystem", facts.root_is_overlay ? State::kWarn : State::kOk,
       facts.root_is_overlay ? "an overlay, as in a container" : "not an overlay", ""});
  findings.push_back({"mounts", "merged /usr", facts.usr_is_merged ? State::kOk : State::kWarn,
                      facts.usr_is_merged ? "/bin and /lib are links into /usr"
                                          : "/bin or /lib is a separate directory: the sandbox "
                                            "sees only /usr",
                      facts.usr_is_merged ? "" : "sudo apt install usrmerge"});
}

}  // namespace glovebox::probe
