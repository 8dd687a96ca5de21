#include "probe/cgroups/cgroup_trials.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>

#include "probe/kernel_text.h"

namespace glovebox::probe {

namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kPrefix = "gbx-doctor-";
constexpr std::int64_t kMemoryLimit = 32 << 20;
constexpr std::int64_t kTouched = 4 << 20;
// A v1 attach waits for RCU; 7 to 23 ms is usual, more on a busy host.
constexpr milliseconds kTrialDeadline{1500};

int join_group(const std::string& path) { return write_text(path + "/cgroup.procs", "0"); }

// A group empties only when the last process in it is reaped by its parent, and v1 has no
// event for it: EBUSY is retried for a moment.
void remove_group(const std::string& path) {
  // v1 keeps a removed memory group for as long as its pages are somewhere; other trees lack this.
  (void)write_text(path + "/memory.force_empty", "0");
  const Clock::time_point end = Clock::now() + milliseconds(100);
  while (::rmdir(path.c_str()) != 0 && errno == EBUSY && Clock::now() < end) {
    ::poll(nullptr, 0, 1);
  }
}

bool touch_memory() {
  const auto size = static_cast<std::size_t>(kTouched);
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  for (std::size_t at = 0; at < size; at += 4096) static_cast<volatile char*>(memory)[at] = 1;
  return true;
}

// Burns CPU until the kernel says it held us back.
bool spin_until_throttled(const std::string& stat_path) {
  const Clock::time_point end = Clock::now() + milliseconds(500);
  while (Clock::now() < end) {
    const Clock::time_point slice = Clock::now() + milliseconds(3);
    while (Clock::now() < slice) {
    }
    const std::string stat = read_text(stat_path).value_or("");
    for (const std::string_view line : split(stat, '\n')) {
      if (!line.starts_with("nr_throttled ")) continue;
      if (parse_number(line.substr(13)).value_or(0) > 0) return true;
    }
  }
  return false;
}

// "frozen 1" in cgroup.events, whose changes poll() announces.
bool wait_until_frozen(const std::string& path) {
  const UniqueFd events(::open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
  if (!events) return false;
  const Clock::time_point end = Clock::now() + milliseconds(500);
  while (Clock::now() < end) {
    char text[256];
    const ssize_t n = ::pread(events.get(), text, sizeof text, 0);
    if (n > 0 && std::string_view(text, static_cast<std::size_t>(n)).find("frozen 1") !=
                     std::string_view::npos) {
      return true;
    }
    pollfd change{.fd = events.get(), .events = POLLPRI, .revents = 0};
    ::poll(&change, 1, 50);
  }
  return false;
}

}  // namespace

Result<TrialGroup> TrialGroup::make(const std::string& parent, const std::string& what) {
  std::string path = parent + "/" + std::string(kPrefix) + std::to_string(::getpid()) + "-" + what;
  if (::mkdir(path.c_str(), 0755) != 0)
    return fail(Error::from_errno("create a cgroup in " + parent));
  return TrialGroup(std::move(path));
}

TrialGroup::~TrialGroup() {
  if (!path_.empty()) remove_group(path_);
}

bool TrialGroup::has(const std::string& file) const {
  return ::access((path_ + "/" + file).c_str(), F_OK) == 0;
}

Attempt try_memory_limit(const TrialGroup& group, CgroupVersion version) {
  const bool v2 = version == CgroupVersion::kV2;
  const std::string limit = group.path() + (v2 ? "/memory.max" : "/memory.limit_in_bytes");
  const std::string usage = group.path() + (v2 ? "/memory.current" : "/memory.usage_in_bytes");
  if (const int err = write_text(limit, std::to_string(kMemoryLimit)); err != 0) {
    return Attempt::failed("set a memory limit", err);
  }
  if (read_number(limit) != kMemoryLimit)
    return Attempt::failed("the limit was not kept by the kernel", -1);
  return attempt_in_helper(
      [&] {
        if (const int err = join_group(group.path()); err != 0) {
          return Attempt::failed("join a memory group", err);
        }
        if (!touch_memory()) return Attempt::failed("allocate memory");
        // Less than was touched: it is not counted here, so no limit would bite. The kernel counts
        // in batches per CPU, hence the half.
        if (read_number(usage).value_or(0) < kTouched / 2) {
          return Attempt::failed("memory allocated in the cgroup is not charged to it", -1);
        }
        return Attempt::worked();
      },
      kTrialDeadline);
}

Attempt try_pids_limit(const TrialGroup& group) {
  if (const int err = write_text(group.path() + "/pids.max", "1"); err != 0) {
    return Attempt::failed("set a pids limit", err);
  }
  return attempt_in_helper(
      [&] {
        if (const int err = join_group(group.path()); err != 0) {
          return Attempt::failed("join a pids group", err);
        }
        const pid_t one_too_many = fork_into(0);
        if (one_too_many == 0) ::_exit(0);
        if (one_too_many < 0) {
          return errno == EAGAIN ? Attempt::worked() : Attempt::failed("fork under the limit");
        }
        wait_for_child(one_too_many);
        return Attempt::failed("the limit is not enforced", -1);
      },
      kTrialDeadline);
}

Attempt try_cpu_limit(const TrialGroup& group, CgroupVersion version) {
  // 2 ms of every 10 ms: felt within one period.
  if (version == CgroupVersion::kV2) {
    if (const int err = write_text(group.path() + "/cpu.max", "2000 10000"); err != 0) {
      return Attempt::failed("set a CPU limit", err);
    }
  } else {
    for (const auto& [file, value] :
         {std::pair{"/cpu.cfs_period_us", "10000"}, std::pair{"/cpu.cfs_quota_us", "2000"}}) {
      if (const int err = write_text(group.path() + file, value); err != 0) {
        return Attempt::failed("set a CPU limit", err);
      }
    }
  }
  return attempt_in_helper(
      [&] {
        if (const int err = join_group(group.path()); err != 0) {
          return Attempt::failed("join a cpu group", err);
        }
        return spin_until_throttled(group.path() + "/cpu.stat")
                   ? Attempt::worked()
                   : Attempt::failed("the limit is not enforced", -1);
      },
      kTrialDeadline);
}

FreezeAndKill try_freeze_and_kill(const TrialGroup& group) {
  FreezeAndKill result;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    result.freeze = result.kill = Attempt::failed("pipe");
    return result;
  }
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const pid_t child = fork_into(0);
  if (child < 0) {
    result.freeze = result.kill = Attempt::failed("fork");
    return result;
  }
  if (child == 0) {
    (void)!::write(write_end.get(), "r", 1);
    while (true) ::pause();
  }
  // Only now does it die with us. Frozen before that, it would outlive a killed doctor for good.
  write_end.reset();
  char ready = 0;
  (void)!::read(read_end.get(), &ready, 1);
  const std::string pid = std::to_string(child);
  if (const int err = write_text(group.path() + "/cgroup.procs", pid); err != 0) {
    result.freeze = result.kill = Attempt::failed("move a process into a cgroup", err);
  } else {
    if (const int freeze_err = write_text(group.path() + "/cgroup.freeze", "1"); freeze_err != 0) {
      result.freeze = Attempt::failed("write cgroup.freeze", freeze_err);
    } else if (!wait_until_frozen(group.path())) {
      result.freeze = Attempt::failed("the group did not freeze within 500 ms", -1);
    }
    if (const int kill_err = write_text(group.path() + "/cgroup.kill", "1"); kill_err != 0) {
      result.kill = Attempt::failed("write cgroup.kill", kill_err);
    }
  }
  // Where cgroup.kill worked this only reaps; else it ends the child. A v2-frozen process can be
  // killed, so the wait ends in either case.
  if (!result.kill.ok()) ::kill(child, SIGKILL);
  const int status = wait_for_child(child);
  if (result.kill.ok() && status != 128 + SIGKILL) {
    result.kill = Attempt::failed("cgroup.kill did not kill", -1);
  }
  return result;
}

void sweep_trial_groups(const std::string& parent) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(parent.c_str()), ::closedir);
  if (!directory) return;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(kPrefix)) continue;
    const std::string_view rest = name.substr(kPrefix.size());
    const auto pid = parse_number(rest.substr(0, rest.find('-')));
    if (!pid || *pid <= 0 || ::kill(static_cast<pid_t>(*pid), 0) == 0 || errno != ESRCH) continue;
    const std::string group = parent + "/" + std::string(name);
    // A v2 group may still hold a frozen process of that doctor.
    (void)write_text(group + "/cgroup.kill", "1");
    remove_group(group);
  }
}

}  // namespace glovebox::probe
