#include "sys/cgroup_parents.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/log.h"
#include "sys/cgroup_directory.h"
#include "sys/file.h"

namespace glovebox::sys {
namespace {

// Making them again takes a few hundred microseconds of a tenant's first sandbox.
constexpr std::chrono::seconds kIdleTime{60};

struct MemoryNow {
  std::uint64_t firm_bytes = 0;
  std::uint64_t charged_bytes = 0;
  std::uint64_t socket_bytes = 0;
};

MemoryNow memory_in(const std::string& path, bool v2) {
  const auto number = [&path](const char* file) {
    return read_cgroup_number(AT_FDCWD, path + file).value_or(0);
  };
  const auto of_stat = [&path](const char* key) {
    return read_cgroup_key(AT_FDCWD, path + "/memory.stat", key);
  };
  MemoryNow now;
  if (v2) {
    now.charged_bytes = number("/memory.current");
    now.socket_bytes = of_stat("sock");
    const std::uint64_t soft =
        of_stat("inactive_file") + of_stat("active_file") + of_stat("slab_reclaimable");
    now.firm_bytes = now.charged_bytes - std::min(now.charged_bytes, soft);
    return now;
  }
  now.socket_bytes = number("/memory.kmem.tcp.usage_in_bytes");
  now.charged_bytes = number("/memory.usage_in_bytes") + now.socket_bytes;
  // v1 has the sums over all cgroups below under names of their own. It does not say how much of
  // the kernel's own memory could be reclaimed; all of it is counted, because queues of sockets and
  // pipes, which a guest fills, are a part of it.
  now.firm_bytes = of_stat("total_rss") + of_stat("total_shmem") +
                   number("/memory.kmem.usage_in_bytes") + now.socket_bytes;
  return now;
}

// Sandboxes are below it. The kernel counts a directory's subdirectories in its links.
bool has_children(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && info.st_nlink > 2;
}

int make_cgroup(const std::string& path) { return ::mkdir(path.c_str(), 0755); }

}  // namespace

Result<CgroupParents> CgroupParents::create(const CgroupRoots& roots, std::string prefix,
                                            const CgroupTotals& totals) {
  return create(roots, std::move(prefix), totals, make_cgroup);
}

Result<CgroupParents> CgroupParents::create(const CgroupRoots& roots, std::string prefix,
                                            const CgroupTotals& totals,
                                            MakeDirectory make_directory) {
  CgroupParents parents(roots);
  parents.prefix_ = std::move(prefix);
  parents.totals_ = totals;
  parents.make_directory_ = std::move(make_directory);
  if (roots.v2_controls) return parents;
  const auto add = [&parents](const std::string& root, Base base) -> Result<> {
    if (root.empty()) return {};
    base.path = root + "/" + parents.prefix_ + "all";
    // A hierarchy that cannot be written has no sandboxes either: see Cgroup::create().
    if (parents.make_directory_(base.path) != 0) {
      if (errno == EACCES || errno == EPERM || errno == EROFS || errno == ENOENT) return {};
      return fail(Error::from_errno("create cgroup " + base.path));
    }
    parents.bases_.push_back(base);
    // Of old kernels, whose v1 memory cgroups do not include those below them unless they are told
    // to before there are any.
    if (base.memory) (void)write_control(AT_FDCWD, base.path + "/memory.use_hierarchy", "1");
    return parents.set_bounds(base, base.path, parents.totals_.memory_bytes, parents.totals_.pids);
  };
  Base memory;
  memory.memory = true;
  TRY_OK(add(roots.v1_memory, memory));
  Base pids;
  pids.pids = true;
  TRY_OK(add(roots.v1_pids, pids));
  Base cpu;
  cpu.cpu = true;
  TRY_OK(add(roots.v1_cpu, cpu));
  return parents;
}

CgroupParents::CgroupParents(CgroupParents&& other) noexcept
    : roots_(std::move(other.roots_)),
      prefix_(std::move(other.prefix_)),
      totals_(other.totals_),
      make_directory_(std::move(other.make_directory_)),
      bases_(std::exchange(other.bases_, {})),
      tenants_(std::exchange(other.tenants_, {})) {}

CgroupParents& CgroupParents::operator=(CgroupParents&& other) noexcept {
  if (this == &other) return *this;
  remove();
  roots_ = std::move(other.roots_);
  prefix_ = std::move(other.prefix_);
  totals_ = other.totals_;
  make_directory_ = std::move(other.make_directory_);
  bases_ = std::exchange(other.bases_, {});
  tenants_ = std::exchange(other.tenants_, {});
  return *this;
}

CgroupParents::~CgroupParents() { remove(); }

Result<> CgroupParents::add_family(const std::string& path) {
  if (!make_directory_ || !roots_.v2_controls || !bases_.empty()) return {};
  Base base;
  base.path = path;
  base.memory = base.pids = base.v2 = true;
  TRY_OK(set_bounds(base, base.path, totals_.memory_bytes, totals_.pids));
  bases_.push_back(std::move(base));
  return {};
}

Result<> CgroupParents::set_bounds(const Base& base, const std::string& path,
                                   std::uint64_t memory_bytes, std::uint32_t pids) const {
  const auto set = [&path](const char* file, std::uint64_t value) {
    return write_control(AT_FDCWD, path + file, std::to_string(value));
  };
  if (base.pids && pids != 0) TRY_OK(set("/pids.max", pids));
  if (!base.memory || memory_bytes == 0) return {};
  if (base.v2) return set("/memory.max", memory_bytes);
  const MemorySplit split = split_memory(memory_bytes);
  // In this order for a new bound that is lower or higher than the last; see Cgroup::set_limits().
  const Result<> first = set("/memory.limit_in_bytes", split.memory_bytes);
  (void)set("/memory.memsw.limit_in_bytes", split.memory_bytes);
  if (!first) TRY_OK(set("/memory.limit_in_bytes", split.memory_bytes));
  (void)set("/memory.kmem.tcp.limit_in_bytes", split.socket_bytes);
  return {};
}

std::string CgroupParents::tenant_name(TenantNumber tenant) const {
  char digits[17] = {};
  const auto [end, ec] = std::to_chars(digits, digits + sizeof digits - 1, tenant, 16);
  return prefix_ + "t" + std::string(digits, end);
}

Result<bool> CgroupParents::make(const Base& base, const std::string& name) {
  const std::string path = base.path + "/" + name;
  if (make_directory_(path) != 0) {
    if (errno == EEXIST) return false;
    return fail(Error::from_errno("create cgroup " + path));
  }
  if (base.v2) {
    for (const char* controller : {"+memory", "+pids", "+cpu"}) {
      (void)write_control(AT_FDCWD, path + "/cgroup.subtree_control", controller);
    }
  } else if (base.memory) {
    (void)write_control(AT_FDCWD, path + "/memory.use_hierarchy", "1");
  }
  return true;
}

Result<CgroupRoots> CgroupParents::roots_for(TenantNumber tenant) {
  if (bases_.empty()) return roots_;
  const std::string name = tenant_name(tenant);
  const auto at = tenants_.try_emplace(tenant).first;
  CgroupRoots roots = roots_;
  for (const Base& base : bases_) {
    // Also those that were made before: another launcher may have swept what was empty.
    Result<bool> is_new = make(base, name);
    if (!is_new || *is_new || !at->second.is_made) {
      Result<> made = is_new ? Result<>() : Result<>(fail(std::move(is_new.error())));
      if (made && tenant != 0) {
        at->second.memory_bytes = totals_.tenant_memory_bytes;
        made = set_bounds(base, base.path + "/" + name, totals_.tenant_memory_bytes,
                          totals_.tenant_pids);
      }
      if (!made) {
        (void)remove_tenant(tenant);
        tenants_.erase(tenant);
        return fail(std::move(made.error()));
      }
    }
    const std::string path = base.path + "/" + name;
    if (base.v2) roots.v2_group = name;
    if (base.v2) continue;
    if (base.memory) roots.v1_memory = path;
    if (base.pids) roots.v1_pids = path;
    if (base.cpu && roots_.v1_cpuacct == roots_.v1_cpu) roots.v1_cpuacct = path;
    if (base.cpu) roots.v1_cpu = path;
  }
  at->second.is_made = true;
  at->second.used_at = Clock::now();
  return roots;
}

// False: there are sandboxes below it still.
bool CgroupParents::remove_tenant(TenantNumber tenant) {
  bool all = true;
  for (const Base& base : bases_) {
    const std::string path = base.path + "/" + tenant_name(tenant);
    if (::rmdir(path.c_str()) != 0 && errno != ENOENT) all = false;
  }
  return all;
}

void CgroupParents::remove_idle(Clock::time_point now) {
  for (auto at = tenants_.begin(); at != tenants_.end();) {
    auto& [number, tenant] = *at;
    const std::string name = tenant_name(number);
    if (std::any_of(bases_.begin(), bases_.end(),
                    [&name](const Base& base) { return has_children(base.path + "/" + name); })) {
      tenant.used_at = now;
    }
    const bool is_idle = number != 0 && now - tenant.used_at >= kIdleTime;
    // What could not be removed in every hierarchy is made again before its next sandbox.
    if (is_idle) tenant.is_made = false;
    at = is_idle && remove_tenant(number) ? tenants_.erase(at) : std::next(at);
  }
}

void CgroupParents::remove() {
  for (const auto& [number, tenant] : tenants_) (void)remove_tenant(number);
  tenants_.clear();
  for (const Base& base : std::exchange(bases_, {})) {
    if (base.v2) continue;  // the family removes itself
    if (::rmdir(base.path.c_str()) != 0 && errno != ENOENT) {
      log::warn("a cgroup could not be removed",
                {{"name", base.path}, {"error", Error::from_errno("rmdir").message()}});
    }
  }
}

const CgroupParents::Base* CgroupParents::base_with(bool Base::*what) const {
  for (const Base& base : bases_) {
    if (base.*what) return &base;
  }
  return nullptr;
}

std::optional<std::uint32_t> CgroupParents::pids() const {
  const Base* base = base_with(&Base::pids);
  if (base == nullptr) return std::nullopt;
  const auto tasks = read_cgroup_number(AT_FDCWD, base->path + "/pids.current");
  if (!tasks) return std::nullopt;
  return static_cast<std::uint32_t>(*tasks);
}

CgroupTotalsNow CgroupParents::now() const {
  CgroupTotalsNow now;
  now.pids = pids();
  if (const Base* base = base_with(&Base::memory); base != nullptr) {
    const MemoryNow memory = memory_in(base->path, base->v2);
    now.memory_bytes = memory.firm_bytes;
    now.charged_bytes = memory.charged_bytes;
    now.socket_bytes = memory.socket_bytes;
  }
  return now;
}

std::vector<TenantMemory> CgroupParents::tenants() const {
  std::vector<TenantMemory> found;
  const Base* base = base_with(&Base::memory);
  if (base == nullptr) return found;
  for (const auto& [number, tenant] : tenants_) {
    if (number == 0) continue;
    const MemoryNow memory = memory_in(base->path + "/" + tenant_name(number), base->v2);
    found.push_back({number, memory.firm_bytes, memory.charged_bytes});
  }
  return found;
}

void CgroupParents::set_tenant_memory(TenantNumber tenant, std::uint64_t bytes) {
  const auto at = tenants_.find(tenant);
  const Base* base = base_with(&Base::memory);
  if (base == nullptr || at == tenants_.end() || at->second.memory_bytes == bytes) return;
  // It may use more than that by now: then the bound that it has stays.
  if (set_bounds(*base, base->path + "/" + tenant_name(tenant), bytes, 0)) {
    at->second.memory_bytes = bytes;
  }
}

}  // namespace glovebox::sys
