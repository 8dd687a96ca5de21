#include "sys/cgroup.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/log.h"
#include "sys/cgroup_directory.h"
#include "sys/clone.h"
#include "sys/file.h"

namespace glovebox::sys {
namespace {

// cpu.max and cfs_quota are refused below a millisecond of quota.
std::string quota_us(std::uint32_t cpu_thousandths, std::uint32_t period_us) {
  const std::uint64_t quota = static_cast<std::uint64_t>(cpu_thousandths) * period_us / 1000;
  return std::to_string(std::max<std::uint64_t>(quota, 1000));
}

constexpr std::uint32_t kCpuPeriodUs = 100'000;
constexpr gid_t kSameGroup = static_cast<gid_t>(-1);

// For the cgroups below. What the host does not offer stays off; see features().
void enable_controllers(const std::string& path) {
  for (const char* controller : {"+memory", "+pids", "+cpu"}) {
    (void)write_control(AT_FDCWD, path + "/cgroup.subtree_control", controller);
  }
}

}  // namespace

MemorySplit split_memory(std::uint64_t bytes) {
  constexpr std::uint64_t kLeast = 2ull << 20;
  const std::uint64_t sockets = std::max(bytes / 16, std::min(kLeast, bytes / 8));
  return {.memory_bytes = bytes - sockets, .socket_bytes = sockets};
}

Result<CgroupFamily> CgroupFamily::create(const CgroupRoots& roots, const std::string& name,
                                          uid_t root) {
  CgroupFamily family;
  family.path_ = roots.v2 + "/" + name;
  family.root_ = root;
  enable_controllers(roots.v2);
  if (::mkdir(family.path_.c_str(), 0755) != 0) {
    const int error = errno;
    family.path_.clear();
    return fail(Error::from_errno("create cgroup " + name, error));
  }
  TRY(family.lock_, open_dir(AT_FDCWD, family.path_));
  if (::flock(family.lock_.get(), LOCK_SH | LOCK_NB) != 0) {
    return fail(Error::from_errno("lock " + family.path_));
  }
  enable_controllers(family.path_);
  // A cgroup with controllers has processes or children, never both.
  const std::string nursery = family.path_ + "/nursery";
  if (::mkdir(nursery.c_str(), 0755) != 0)
    return fail(Error::from_errno("create cgroup " + nursery));
  if (::chown((family.path_ + "/cgroup.procs").c_str(), root, root) != 0) {
    return fail(Error::from_errno("change the owner of " + family.path_));
  }
  TRY(family.nursery_, open_dir(AT_FDCWD, nursery));
  return family;
}

CgroupFamily::~CgroupFamily() {
  if (path_.empty()) return;
  nursery_.reset();
  (void)remove_cgroup_directory(AT_FDCWD, path_ + "/nursery");
  if (const auto removed = remove_cgroup_directory(AT_FDCWD, path_); !removed) {
    log::warn("a cgroup could not be removed",
              {{"name", path_}, {"error", removed.error().message()}});
  }
}

Result<Cgroup> Cgroup::create(const CgroupRoots& roots, const CgroupFamily* family,
                              const std::string& name, const CgroupLimits& limits) {
  Cgroup group;
  group.name_ = name;
  const auto try_part = [&](const std::string& root, Part part) -> bool {
    if (root.empty()) return false;
    if (!part.v2) return group.add_part(root, std::move(part)).has_value();
    if (family == nullptr) {
      if (roots.v2_controls && roots.v2_directly) enable_controllers(root);
      return roots.v2_directly && group.add_part(root, std::move(part)).has_value();
    }
    const std::string below =
        roots.v2_group.empty() ? family->path() : family->path() + "/" + roots.v2_group;
    if (!group.add_part(below, std::move(part))) return false;
    // Forking into it needs the right to write this.
    const int dir = group.parts_.back().dir.get();
    return ::fchownat(dir, "cgroup.procs", family->root(), family->root(), 0) == 0;
  };
  if (roots.v2_controls) {
    Part part;
    part.v2 = part.memory = part.pids = part.cpu = part.cpuacct = part.freezer = true;
    try_part(roots.v2, std::move(part));
  } else {
    Part unified;
    unified.v2 = unified.freezer = true;
    try_part(roots.v2, std::move(unified));
    Part memory;
    memory.memory = true;
    try_part(roots.v1_memory, std::move(memory));
    Part pids;
    pids.pids = true;
    try_part(roots.v1_pids, std::move(pids));
    Part cpu;
    cpu.cpu = true;
    cpu.cpuacct = roots.v1_cpuacct == roots.v1_cpu;
    try_part(roots.v1_cpu, std::move(cpu));
    if (roots.v1_cpuacct != roots.v1_cpu) {
      Part cpuacct;
      cpuacct.cpuacct = true;
      try_part(roots.v1_cpuacct, std::move(cpuacct));
    }
    Part freezer;
    freezer.freezer = true;
    try_part(roots.v1_freezer, std::move(freezer));
  }
  group.features_.any = !group.parts_.empty();
  group.features_.cpu_time =
      group.part_with(&Part::cpuacct) != nullptr || group.part_with(&Part::v2) != nullptr;
  group.features_.freezer = group.part_with(&Part::freezer) != nullptr;
  group.set_limits(limits);
  for (const Part& part : group.parts_) {
    // What every sandbox has alike. Absent where there is no swap.
    if (part.v2 && part.memory) (void)write_control(part.dir.get(), "memory.swap.max", "0");
    if (!part.v2 && part.memory) (void)write_control(part.dir.get(), "memory.swappiness", "0");
  }
  return group;
}

void Cgroup::set_limits(const CgroupLimits& limits) {
  const std::optional<CgroupLimits> before = std::exchange(limits_, limits);
  const auto is_new = [&](auto CgroupLimits::*what) {
    return !before || *before.*what != limits.*what;
  };
  const bool memory = is_new(&CgroupLimits::memory_bytes) || is_new(&CgroupLimits::socket_bytes);
  const bool cpu = is_new(&CgroupLimits::cpu_thousandths);
  // The kernel's default needs no setting.
  const bool weight = limits.cpu_weight != (before ? before->cpu_weight : kFullCpuWeight);
  for (const Part& part : parts_) {
    if (part.pids && is_new(&CgroupLimits::pids)) {
      features_.pids = set_control(part, "pids.max", std::to_string(limits.pids));
    }
    if (part.memory && memory) features_.memory = set_memory(part, limits);
    if (part.cpu && cpu) {
      const std::string quota = quota_us(limits.cpu_thousandths, kCpuPeriodUs);
      const std::string period = std::to_string(kCpuPeriodUs);
      features_.cpu = part.v2 ? set_control(part, "cpu.max", quota + " " + period)
                              : set_control(part, "cpu.cfs_period_us", period) &&
                                    set_control(part, "cpu.cfs_quota_us", quota);
    }
    if (part.cpu && weight) {
      // v2's default is 100, and its least 1.
      const std::uint32_t v2_weight = std::max(1u, limits.cpu_weight * 100 / kFullCpuWeight);
      (void)(part.v2 ? set_control(part, "cpu.weight", std::to_string(v2_weight))
                     : set_control(part, "cpu.shares", std::to_string(limits.cpu_weight)));
    }
  }
}

bool Cgroup::set_control(const Part& part, const char* file, const std::string& value) {
  return write_control(part.dir.get(), file, value).has_value();
}

bool Cgroup::set_memory(const Part& part, const CgroupLimits& limits) {
  if (part.v2) return set_control(part, "memory.max", std::to_string(limits.memory_bytes));
  const std::uint64_t sockets = limits.socket_bytes != 0
                                    ? limits.socket_bytes
                                    : split_memory(limits.memory_bytes).socket_bytes;
  const std::string bytes = std::to_string(limits.memory_bytes - sockets);
  bool is_set = set_control(part, "memory.limit_in_bytes", bytes);
  // Absent without swap accounting; with it, memory and swap together get the same bound, and have
  // to be raised before memory alone can be.
  (void)set_control(part, "memory.memsw.limit_in_bytes", bytes);
  if (!is_set) is_set = set_control(part, "memory.limit_in_bytes", bytes);
  // Counted only once it has a limit.
  (void)set_control(part, "memory.kmem.tcp.limit_in_bytes", std::to_string(sockets));
  return is_set;
}

Cgroup& Cgroup::operator=(Cgroup&& other) noexcept {
  if (this != &other) {
    (void)remove();
    name_ = std::move(other.name_);
    parts_ = std::move(other.parts_);
    features_ = other.features_;
    limits_ = other.limits_;
    other.parts_.clear();
  }
  return *this;
}

Cgroup::~Cgroup() {
  if (const auto removed = remove(); !removed) {
    log::warn("a cgroup could not be removed",
              {{"name", name_}, {"error", removed.error().message()}});
  }
}

Result<> Cgroup::add_part(const std::string& parent, Part part) {
  const std::string path = parent + "/" + name_;
  if (::mkdir(path.c_str(), 0755) != 0) return fail(Error::from_errno("create cgroup " + path));
  part.parent = parent;
  auto dir = open_dir(AT_FDCWD, path);
  if (!dir) {
    ::rmdir(path.c_str());
    return fail(std::move(dir.error()));
  }
  part.dir = std::move(*dir);
  parts_.push_back(std::move(part));
  return {};
}

const Cgroup::Part* Cgroup::part_with(bool Part::*what) const {
  for (const Part& part : parts_) {
    if (part.*what) return &part;
  }
  return nullptr;
}

Result<std::vector<UniqueFd>> Cgroup::open_join_files(JoinV2 v2, std::size_t* throttling) const {
  std::vector<UniqueFd> files;
  std::vector<UniqueFd> slow;
  for (const Part& part : parts_) {
    if (part.v2 && v2 == JoinV2::kNo) continue;
    const char* file = part.v2 ? "cgroup.procs" : "tasks";
    UniqueFd tasks(::openat(part.dir.get(), file, O_WRONLY | O_CLOEXEC));
    if (!tasks) return fail(Error::from_errno("join cgroup in " + part.parent));
    const bool slows = !part.v2 && (part.cpu || part.freezer);
    (slows ? slow : files).push_back(std::move(tasks));
  }
  if (throttling != nullptr) *throttling = slow.size();
  for (UniqueFd& file : slow) files.push_back(std::move(file));
  return files;
}

Result<std::vector<UniqueFd>> Cgroup::open_join_files_as(uid_t user) const {
  for (const Part& part : parts_) {
    if (!part.v2 && ::fchownat(part.dir.get(), "tasks", user, kSameGroup, 0) != 0) {
      return fail(Error::from_errno("give away the tasks of " + part.parent));
    }
  }
  TRY_OK(become_effective(user, 0));
  auto files = open_join_files();
  TRY_OK(become_effective(0, 0));
  return files;
}

int Cgroup::v2_dir() const {
  const Part* part = part_with(&Part::v2);
  return part != nullptr ? part->dir.get() : -1;
}

Result<> Cgroup::join(pid_t pid) const {
  for (const Part& part : parts_) {
    if (auto joined = write_control(part.dir.get(), "cgroup.procs", std::to_string(pid)); !joined) {
      return fail(std::move(joined.error()).context("join cgroup in " + part.parent));
    }
  }
  return {};
}

std::uint64_t Cgroup::cpu_us() const {
  if (const Part* part = part_with(&Part::cpuacct); part != nullptr && !part->v2) {
    return read_cgroup_number(part->dir.get(), "cpuacct.usage").value_or(0) / 1000;
  }
  // cpu.stat's usage is there in every v2 cgroup, with or without the controller.
  const Part* part = part_with(&Part::v2);
  return part != nullptr ? read_cgroup_key(part->dir.get(), "cpu.stat", "usage_usec") : 0;
}

CgroupUsage Cgroup::usage() const {
  CgroupUsage usage;
  usage.cpu_us = cpu_us();
  if (const Part* part = part_with(&Part::memory); part != nullptr) {
    usage.peak_memory_bytes =
        read_cgroup_number(part->dir.get(), part->v2 ? "memory.peak" : "memory.max_usage_in_bytes");
    // The two may have peaked at different times: at most so much was used.
    if (usage.peak_memory_bytes && !part->v2) {
      *usage.peak_memory_bytes +=
          read_cgroup_number(part->dir.get(), "memory.kmem.tcp.max_usage_in_bytes").value_or(0);
    }
    usage.oom_kills = static_cast<std::uint32_t>(read_cgroup_key(
        part->dir.get(), part->v2 ? "memory.events" : "memory.oom_control", "oom_kill"));
  }
  if (const Part* part = part_with(&Part::pids); part != nullptr) {
    if (const auto peak = read_cgroup_number(part->dir.get(), "pids.peak")) {
      usage.processes_peak = static_cast<std::uint32_t>(*peak);
    }
  }
  return usage;
}

// v2's memory.peak can only be reset for one open file.
bool Cgroup::reset_peak_memory() const {
  const Part* part = part_with(&Part::memory);
  if (part == nullptr || part->v2) return false;
  (void)write_control(part->dir.get(), "memory.kmem.tcp.max_usage_in_bytes", "0");
  return write_control(part->dir.get(), "memory.max_usage_in_bytes", "0").has_value();
}

CgroupNow Cgroup::now() const {
  CgroupNow now;
  if (const Part* part = part_with(&Part::memory); part != nullptr) {
    now.memory_bytes =
        read_cgroup_number(part->dir.get(), part->v2 ? "memory.current" : "memory.usage_in_bytes");
    now.socket_bytes =
        part->v2
            ? read_cgroup_key(part->dir.get(), "memory.stat", "sock")
            : read_cgroup_number(part->dir.get(), "memory.kmem.tcp.usage_in_bytes").value_or(0);
    if (now.memory_bytes && !part->v2) *now.memory_bytes += now.socket_bytes;
  }
  if (const Part* part = part_with(&Part::pids); part != nullptr) {
    if (const auto tasks = read_cgroup_number(part->dir.get(), "pids.current")) {
      now.processes = static_cast<std::uint32_t>(*tasks);
    }
  }
  return now;
}

std::optional<std::uint64_t> Cgroup::firm_memory_bytes() const {
  const Part* part = part_with(&Part::memory);
  if (part == nullptr) return std::nullopt;
  const auto all =
      read_cgroup_number(part->dir.get(), part->v2 ? "memory.current" : "memory.usage_in_bytes");
  if (!all) return std::nullopt;
  const std::uint64_t files = page_cache_bytes();
  return *all > files ? *all - files : 0;
}

std::uint64_t Cgroup::page_cache_bytes() const {
  const Part* part = part_with(&Part::memory);
  if (part == nullptr) return 0;
  return read_cgroup_key(part->dir.get(), "memory.stat", "inactive_file") +
         read_cgroup_key(part->dir.get(), "memory.stat", "active_file");
}

std::optional<std::size_t> Cgroup::members() const {
  // A process that joins writes to these first.
  const Part* part = part_with(&Part::pids);
  if (part == nullptr) part = part_with(&Part::memory);
  if (part == nullptr) return std::nullopt;
  const auto procs = read_small_file(part->dir.get(), "cgroup.procs");
  if (!procs) return std::nullopt;
  return static_cast<std::size_t>(std::count(procs->begin(), procs->end(), '\n'));
}

Result<> Cgroup::freeze(bool frozen) const {
  const Part* part = part_with(&Part::freezer);
  if (part == nullptr) {
    return fail(Errc::kUnsupported,
                "pausing needs a cgroup in which Glovebox may freeze processes; `glovebox doctor` "
                "says how to get one (cgroups: delegation)");
  }
  if (part->v2) return write_control(part->dir.get(), "cgroup.freeze", frozen ? "1" : "0");
  return write_control(part->dir.get(), "freezer.state", frozen ? "FROZEN" : "THAWED");
}

bool Cgroup::is_frozen() const {
  const Part* part = part_with(&Part::freezer);
  if (part == nullptr) return false;
  if (part->v2) return read_cgroup_key(part->dir.get(), "cgroup.events", "frozen") == 1;
  const auto state = read_small_file(part->dir.get(), "freezer.state");
  return state && state->rfind("FROZEN", 0) == 0;
}

void Cgroup::kill() const {
  for (const Part& part : parts_) {
    if (part.v2) (void)write_control(part.dir.get(), "cgroup.kill", "1");
    // v1: what is frozen dies only when it goes on.
    if (!part.v2 && part.freezer) (void)write_control(part.dir.get(), "freezer.state", "THAWED");
  }
}

Result<> Cgroup::remove() { return remove_parts(true); }

Result<> Cgroup::remove_but_for_memory() { return remove_parts(false); }

Result<> Cgroup::remove_parts(bool memory_too) {
  Result<> outcome;
  std::vector<Part> left;
  for (Part& part : parts_) {
    const bool v1_memory = part.memory && !part.v2;
    if (v1_memory && !memory_too) {
      left.push_back(std::move(part));
      continue;
    }
    auto removed = remove_part(part, true);
    if (removed) continue;
    outcome = std::move(removed);
    left.push_back(std::move(part));
  }
  parts_ = std::move(left);
  return outcome;
}

Result<> Cgroup::remove_part(Part& part, bool waits) {
  const std::string path = part.parent + "/" + name_;
  if (part.memory && !part.v2) drop_charged_pages(part.dir.get());
  auto removed = remove_cgroup_directory(AT_FDCWD, path, waits ? 2 : 0);
  if (removed || !waits) return removed;
  // A process in it did not die with the sandbox.
  if (part.freezer && !part.v2) (void)write_control(part.dir.get(), "freezer.state", "THAWED");
  kill_cgroup_members(part.dir.get());
  return remove_cgroup_directory(AT_FDCWD, path);
}

Result<> Cgroup::remove_now() {
  Result<> outcome;
  std::vector<Part> left;
  for (Part& part : parts_) {
    // No process may fork while the others are killed.
    if (part.pids) (void)write_control(part.dir.get(), "pids.max", "0");
    const auto procs = read_small_file(part.dir.get(), "cgroup.procs");
    if (procs && !procs->empty()) {
      if (part.freezer && !part.v2) (void)write_control(part.dir.get(), "freezer.state", "THAWED");
      kill_cgroup_members(part.dir.get());
      outcome = fail(Errc::kConflict, "cgroup " + name_ + " is not empty");
    } else if (auto removed = remove_part(part, false); !removed) {
      outcome = std::move(removed);
    } else {
      continue;
    }
    left.push_back(std::move(part));
  }
  parts_ = std::move(left);
  return outcome;
}

int Cgroup::sweep(const CgroupRoots& roots, std::string_view prefix) {
  int removed = 0;
  std::vector<std::string> parents = {roots.v2, roots.v1_memory, roots.v1_pids, roots.v1_cpu,
                                      roots.v1_cpuacct};
  std::sort(parents.begin(), parents.end());
  parents.erase(std::unique(parents.begin(), parents.end()), parents.end());
  // First: what is frozen dies when it goes on, and is in all the others until then.
  parents.insert(parents.begin(), roots.v1_freezer);
  std::vector<std::pair<std::string, std::string>> busy;  // their processes take long to die
  for (const std::string& parent : parents) {
    if (parent.empty()) continue;
    const bool freezer = parent == roots.v1_freezer;
    const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(parent.c_str()), ::closedir);
    if (!dir) continue;
    while (const dirent* entry = ::readdir(dir.get())) {
      const std::string name = entry->d_name;
      if (name.compare(0, prefix.size(), prefix) != 0) continue;
      const UniqueFd group(::openat(::dirfd(dir.get()), entry->d_name,
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
      if (!group) continue;
      kill_cgroups_below(group.get());
      if (freezer) (void)write_control(group.get(), "freezer.state", "THAWED");
      remove_cgroups_below(group.get());
      drop_charged_pages(group.get());
      if (remove_cgroup_directory(::dirfd(dir.get()), name)) {
        ++removed;
      } else {
        busy.emplace_back(parent, name);
      }
    }
  }
  for (const auto& [parent, name] : busy) {
    const auto dir = open_dir(AT_FDCWD, parent);
    if (!dir) continue;
    if (const auto group = open_dir(dir->get(), name)) remove_cgroups_below(group->get());
    if (remove_cgroup_directory(dir->get(), name)) ++removed;
  }
  return removed;
}

}  // namespace glovebox::sys
