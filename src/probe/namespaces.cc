#include "probe/namespaces.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace glovebox::probe {

namespace {

struct Kind {
  const char* name;   // ours
  const char* entry;  // in /proc/self/ns
  unsigned long flag;
};

constexpr Kind kKinds[] = {
    {"mount", "mnt", CLONE_NEWNS}, {"pid", "pid", CLONE_NEWPID},
    {"net", "net", CLONE_NEWNET},  {"ipc", "ipc", CLONE_NEWIPC},
    {"uts", "uts", CLONE_NEWUTS},  {"cgroup", "cgroup", CLONE_NEWCGROUP},
};

constexpr int kSame = 3;

// 0 where /proc does not show it.
ino_t namespace_number(const Kind& kind) {
  struct stat info {};
  const std::string path = std::string("/proc/self/ns/") + kind.entry;
  return ::stat(path.c_str(), &info) == 0 ? info.st_ino : 0;
}

Attempt clone_one(const Kind& kind, Way way) {
  if (way == Way::kUserNamespace) {
    Attempt entered = enter_own_user_namespace();
    if (!entered.ok()) return entered;
  }
  const ino_t outside = namespace_number(kind);
  const pid_t child = fork_into(kind.flag);
  if (child < 0) return Attempt::failed("clone");
  if (child == 0) {
    if (kind.flag == CLONE_NEWPID) ::_exit(::getpid() == 1 ? 0 : kSame);
    const ino_t inside = namespace_number(kind);
    ::_exit(outside != 0 && inside == outside ? kSame : 0);
  }
  const int status = wait_for_child(child);
  if (status == kSame) return Attempt::failed("cloned, but in the old namespace", -1);
  if (status != 0) return Attempt::failed("the cloned process died", -1);
  return Attempt::worked();
}

}  // namespace

bool NamespaceFacts::all_work() const {
  return !trials.empty() && std::all_of(trials.begin(), trials.end(),
                                        [](const auto& trial) { return trial.attempt.ok(); });
}

NamespaceFacts probe_namespaces() {
  NamespaceFacts facts;
  facts.way = attempt_in_helper([] { return enter_private_mounts(Way::kDirect); }).ok()
                  ? Way::kDirect
                  : Way::kUserNamespace;
  for (const Kind& kind : kKinds) {
    facts.trials.push_back(
        {kind.name, attempt_in_helper([&] { return clone_one(kind, facts.way); })});
  }
  return facts;
}

void explain(const NamespaceFacts& facts, Findings& findings) {
  const char* how = facts.way == Way::kDirect ? "cloned" : "cloned inside a user namespace";
  for (const NamespaceTrial& trial : facts.trials) {
    if (trial.attempt.ok()) {
      findings.push_back({"namespaces", trial.name, State::kOk, how, ""});
      continue;
    }
    findings.push_back(
        {"namespaces", trial.name, State::kMissing, trial.attempt.why(),
         trial.attempt.error == EINVAL
             ? "this kernel was built without it (CONFIG_*_NS): use a distribution kernel"
             : "run as root, or let this user create user namespaces (see above)"});
  }
}

}  // namespace glovebox::probe
