#include "probe/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <iterator>

namespace glovebox::probe {

namespace {

constexpr long kAnswer = 0x7fff1234;  // above pid_max, so no process can really have this parent

// Every getppid() gets `action`, all else is allowed. The architecture is not compared: this is
// put on ourselves only, and a jail's own filter does compare it.
long install_filter(unsigned action, unsigned flags) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, action),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{.len = static_cast<unsigned short>(std::size(steps)), .filter = steps};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

// Raw calls: the question is what the kernel does, not what a library remembers.
long ask_parent() { return ::syscall(SYS_getppid); }

[[noreturn]] void ask_under_notification(int listener_pipe) {
  const int listener =
      static_cast<int>(install_filter(SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER));
  const int reported = listener < 0 ? -errno : listener;
  if (::write(listener_pipe, &reported, sizeof reported) != sizeof reported || listener < 0)
    ::_exit(1);
  ::_exit(ask_parent() == kAnswer ? 0 : 2);
}

Attempt answer_a_notification() {
  int ends[2];
  if (::pipe(ends) != 0) return Attempt::failed("pipe");
  // CLONE_FILES: the child's listener is ours too, without passing it.
  const pid_t child = fork_into(CLONE_FILES);
  if (child < 0) return Attempt::failed("fork");
  if (child == 0) ask_under_notification(ends[1]);

  int listener = -1;
  if (::read(ends[0], &listener, sizeof listener) != sizeof listener) {
    return Attempt::failed("receive from the child");
  }
  if (listener < 0) return Attempt::failed("install a filter with a listener", -listener);
  seccomp_notif request{};
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0) {
    return Attempt::failed("receive a notification");
  }
  seccomp_notif_resp response{};
  response.id = request.id;
  response.val = kAnswer;
  if (::ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &response) != 0) {
    return Attempt::failed("answer a notification");
  }
  if (wait_for_child(child) != 0) return Attempt::failed("the answer did not arrive", -1);
  return Attempt::worked();
}

}  // namespace

Attempt install_probe_filter() {
  if (install_filter(SECCOMP_RET_ERRNO | EDOM, 0) != 0) return Attempt::failed("install a filter");
  if (ask_parent() != -1 || errno != EDOM) {
    return Attempt::failed("the filter was accepted but has no effect", -1);
  }
  return Attempt::worked();
}

SeccompFacts probe_seccomp() {
  return {.filter = attempt_in_helper(install_probe_filter),
          .notification = attempt_in_helper(answer_a_notification)};
}

void explain(const SeccompFacts& facts, Findings& findings) {
  if (facts.filter.ok()) {
    findings.push_back({"seccomp", "filter", State::kOk, "a filter was installed and works", ""});
  } else {
    findings.push_back({"seccomp", "filter", State::kMissing, facts.filter.why(),
                        "use a kernel with CONFIG_SECCOMP_FILTER"});
  }
  if (facts.notification.ok()) {
    findings.push_back({"seccomp", "notification", State::kOk, "a system call was answered", ""});
  } else {
    findings.push_back({"seccomp", "notification", State::kWarn,
                        facts.notification.why() + "; not needed by jail or process",
                        "use kernel 5.0 or later"});
  }
}

}  // namespace glovebox::probe
