#include "launcher/sandbox/process_maker.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <sstream>

#include "base/assert.h"
#include "base/log.h"
#include "launcher/sandbox/process_child.h"
#include "sys/clone.h"
#include "sys/file.h"
#include "sys/remove_tree.h"

namespace glovebox::launcher {
namespace {

// Processes of a uid are killed one by one by pidfd. Never kill(-1): with our capabilities that
// would kill every process of the host, whatever uid we had switched to.
bool belongs_to(int proc_dir, std::uint32_t uid) {
  const auto status = sys::read_small_file(proc_dir, "status");
  if (!status || status->find("\nState:\tZ") != std::string::npos) return false;  // a zombie
  const std::size_t at = status->find("\nUid:\t");
  return at != std::string::npos && std::strtoul(status->c_str() + at + 6, nullptr, 10) == uid;
}

int kill_once(std::uint32_t uid) {
  int found = 0;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return 0;
  while (const dirent* entry = ::readdir(proc.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 1) continue;
    // The pidfd is opened before the check: if the pid were reused in between, the check would see
    // the new process and the signal would go to the old one, which is dead.
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    const UniqueFd dir(
        ::openat(::dirfd(proc.get()), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!handle || !dir || !belongs_to(dir.get(), uid)) continue;
    if (sys::send_signal(handle.get(), SIGKILL) == 0) ++found;
  }
  return found;
}

void kill_all_of(std::uint32_t uid) {
  GBX_ASSERT(uid >= 65536);  // of a slice, never one of the host's users
  // Until no live process is found.
  for (int round = 0; round < 200 && kill_once(uid) > 0; ++round) ::poll(nullptr, 0, 1);
}

// Without a uid of its own: what the agent left behind are our children now, because we are its
// subreaper. No other sandbox's processes are among them: a rootless launcher has only one sandbox.
void kill_orphans() {
  for (int round = 0; round < 1000; ++round) {
    const auto children = sys::read_small_file(AT_FDCWD, "/proc/thread-self/children");
    if (!children) return;
    std::istringstream list(*children);
    bool any = false;
    for (pid_t pid = 0; list >> pid; any = true) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    if (!any) return;
  }
}

}  // namespace

Result<UniqueFd> make_home(const std::string& path, std::optional<std::uint32_t> owner) {
  // Searchable but not listable: other users reach their own directory only by its name.
  const std::string parent = path.substr(0, path.rfind('/'));
  ::mkdir(parent.substr(0, parent.rfind('/')).c_str(), 0755);
  ::mkdir(parent.c_str(), 0711);
  if (::mkdir(path.c_str(), 0700) != 0) return fail(Error::from_errno("make " + path));
  UniqueFd lock(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) return fail(Error::from_errno("open " + path));
  // Shared: nothing the owner does to its own directory takes it away.
  if (::flock(lock.get(), LOCK_SH | LOCK_NB) != 0) return fail(Error::from_errno("lock " + path));
  if (owner && ::chown(path.c_str(), *owner, *owner) != 0) {
    return fail(Error::from_errno("chown " + path));
  }
  return lock;
}

Result<UniqueFd> start_process_agent(ProcessStart& start, const UniqueFd& agent,
                                     const sys::Cgroup& cgroup, int setup, int link) {
  TRY(start.home_lock, make_home(start.home, start.host_uid));
  int go[2];
  int failed[2];
  if (::pipe2(go, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  UniqueFd go_read(go[0]);
  UniqueFd go_write(go[1]);
  if (::pipe2(failed, O_CLOEXEC) != 0) return fail(Error::from_errno("pipe"));
  UniqueFd failed_read(failed[0]);
  UniqueFd failed_write(failed[1]);
  const ProcessPlan plan{.go_fd = go_read.get(),
                         .agent_fd = agent.get(),
                         .setup_fd = setup,
                         .link_fd = link,
                         .failure_fd = failed_write.get(),
                         .change_user = start.host_uid.has_value(),
                         .uid = start.host_uid.value_or(0)};
  TRY(sys::Cloned child, sys::clone_into(0));
  if (child.pid == 0) {
    go_write.reset();
    run_process_child(plan);
  }
  if (auto joined = cgroup.join(child.pid); !joined) {
    sys::send_signal(child.pidfd.get(), SIGKILL);
    ::waitpid(child.pid, nullptr, 0);
    return fail(std::move(joined.error()));
  }
  (void)!::write(go_write.get(), "", 1);
  failed_write.reset();
  ProcessFailure failure{};
  if (::read(failed_read.get(), &failure, sizeof failure) == static_cast<ssize_t>(sizeof failure)) {
    ::waitpid(child.pid, nullptr, 0);
    return fail(Error::from_errno(process_step_name(failure.step), failure.error)
                    .context("process engine"));
  }
  return std::move(child.pidfd);
}

void clean_up_process(const ProcessStart& start) {
  if (start.host_uid) {
    kill_all_of(*start.host_uid);
  } else {
    kill_orphans();
  }
  if (auto removed = sys::remove_tree(start.home); !removed) {
    log::warn("a sandbox's directory could not be removed",
              {{"path", start.home}, {"error", removed.error().message()}});
  }
}

}  // namespace glovebox::launcher
