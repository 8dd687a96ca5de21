#include "probe/rehearsal.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "probe/kernel_text.h"
#include "probe/mount_trials.h"
#include "probe/seccomp.h"

namespace glovebox::probe {

namespace {

constexpr unsigned long kAllNamespaces = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET |
                                         CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

int attach_root(int overlay) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return errno;
  if (::move_mount(overlay, "", AT_FDCWD, kTrialDir, MOVE_MOUNT_F_EMPTY_PATH) != 0) return errno;
  return ::chdir(kTrialDir) == 0 ? 0 : errno;
}

int mount_proc(int) {
  if (::mkdir("proc", 0555) != 0) return errno;
  return ::mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) == 0 ? 0
                                                                                         : errno;
}

int pivot_into_root(int) {
  if (::syscall(SYS_pivot_root, ".", ".") != 0) return errno;
  if (::umount2(".", MNT_DETACH) != 0) return errno;
  if (::chdir("/") != 0) return errno;
  // The host's /etc must be out of sight: the lower layer is /usr alone.
  return ::access("/etc/passwd", F_OK) == 0 ? EEXIST : 0;
}

int drop_capabilities(int) {
  for (unsigned long cap = 0; cap <= CAP_LAST_CAP; ++cap) {
    // EINVAL: this kernel is older than our headers and has no such capability.
    if (::prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) != 0 && errno != EINVAL) return errno;
  }
  __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
  const __user_cap_data_struct none[2] = {};
  return ::syscall(SYS_capset, &header, none) == 0 ? 0 : errno;
}

int install_seccomp(int) {
  const Attempt installed = install_probe_filter();
  return installed.error < 0 ? EPROTO : installed.error;
}

struct Step {
  const char* name;
  int (*run)(int overlay);
};

// The order is the jail's.
constexpr Step kSteps[] = {
    {"attach the overlay inside", attach_root},    {"mount a fresh proc", mount_proc},
    {"pivot into the root", pivot_into_root},      {"drop capabilities", drop_capabilities},
    {"install a seccomp filter", install_seccomp},
};

// {step, errno}, as the child tells it; step == size means done.
using StepReport = std::array<int, 2>;

[[noreturn]] void play_the_guest(int go, int report_pipe, int overlay) {
  char byte = 0;
  if (::read(go, &byte, 1) != 1) ::_exit(2);
  StepReport report{0, 0};
  for (; report[0] < static_cast<int>(std::size(kSteps)); ++report[0]) {
    report[1] = kSteps[report[0]].run(overlay);
    if (report[1] != 0) break;
  }
  (void)!::write(report_pipe, report.data(), sizeof report);
  ::_exit(0);
}

Attempt write_maps(pid_t child, Way way) {
  const std::string process = "/proc/" + std::to_string(child);
  // Rootless, the only id there is to give is the one we run as, which is 0 one level up.
  const char* map = way == Way::kDirect ? "0 1879048192 65536" : "1000 0 1";
  if (way == Way::kUserNamespace) (void)write_text(process + "/setgroups", "deny");
  for (const char* file : {"/uid_map", "/gid_map"}) {
    if (const int err = write_text(process + file, map); err != 0) {
      return Attempt::failed(std::string("write ") + (file + 1), err);
    }
  }
  return Attempt::worked();
}

}  // namespace

Attempt rehearse_jail(Way way) {
  if (Attempt entered = enter_private_mounts(way); !entered.ok()) return entered;
  if (Attempt bench = mount_workbench(); !bench.ok()) return bench;
  const Attempt overlay = make_detached_overlay("/usr");
  if (!overlay.ok()) return overlay;

  int go[2];
  int report_pipe[2];
  if (::pipe(go) != 0 || ::pipe(report_pipe) != 0) return Attempt::failed("pipe");
  const pid_t child = fork_into(kAllNamespaces);
  if (child < 0) return Attempt::failed("clone all namespaces at once");
  if (child == 0) {
    ::close(go[1]);
    ::close(report_pipe[0]);
    play_the_guest(go[0], report_pipe[1], static_cast<int>(overlay.value));
  }
  ::close(report_pipe[1]);
  Attempt mapped = write_maps(child, way);
  if (mapped.ok() && ::write(go[1], "g", 1) != 1) mapped = Attempt::failed("start the guest");
  ::close(go[1]);
  StepReport report{0, 0};
  const bool received = ::read(report_pipe[0], report.data(), sizeof report) == sizeof report;
  const int status = wait_for_child(child);
  if (!mapped.ok()) return mapped;
  if (!received) return Attempt::failed("the guest died, status " + std::to_string(status), -1);
  if (report[1] != 0) return Attempt::failed(kSteps[report[0]].name, report[1]);
  return Attempt::worked();
}

void explain_rehearsal(const Attempt& rehearsal, Way way, Findings& findings) {
  const char* name = "rehearsal";
  if (rehearsal.ok()) {
    findings.push_back({"jail", name, State::kOk,
                        way == Way::kDirect ? "a test jail was built and left, with a uid slice"
                                            : "a test jail was built and left, rootless",
                        ""});
    return;
  }
  std::string fix = "see the first line above that is not ok";
  if (rehearsal.step == kSteps[1].name) {
    fix =
        "parts of /proc are covered here, as in a container: unmask it "
        "(--security-opt systempaths=unconfined)";
  }
  findings.push_back({"jail", name, State::kMissing, rehearsal.why(), std::move(fix)});
}

}  // namespace glovebox::probe
