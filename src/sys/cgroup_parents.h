// The cgroups above the sandboxes of one launcher: one above all of them, with what they may use
// together, and below it one per tenant. A tenant that takes all it can meets its own bound before
// it meets that of all, so its own processes run short and not another's.
//
// On v1 they are in the memory, pids and cpu hierarchies. In the last they have no bound: tenants
// share the CPUs equally when all want them, and what is outside, such as the server, has its part
// however many sandboxes there are. With v2 the CgroupFamily is the one above all.
// Tenants are opaque numbers; 0 is the unnamed one, which has whatever is made for no tenant in
// particular and no bound of its own. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sys/cgroup.h"

namespace glovebox::sys {

using TenantNumber = std::uint64_t;

struct CgroupTotals {
  // Of all sandboxes together.
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
  // Of one tenant at most.
  std::uint64_t tenant_memory_bytes = 0;
  std::uint32_t tenant_pids = 0;
  bool operator==(const CgroupTotals&) const = default;
};

struct CgroupTotalsNow {
  // What the kernel cannot reclaim: without page cache, with the buffers of sockets.
  // Up to two seconds old: the kernel (seen with 6.18) is late to add up the statistics of a
  // cgroup that has others below it.
  std::optional<std::uint64_t> memory_bytes;
  std::uint64_t charged_bytes = 0;  // with page cache; as of now
  std::uint64_t socket_bytes = 0;
  std::optional<std::uint32_t> pids;
};

struct TenantMemory {
  TenantNumber tenant = 0;
  std::uint64_t bytes = 0;          // that the kernel cannot reclaim
  std::uint64_t charged_bytes = 0;  // with page cache: what its bound counts
  bool operator==(const TenantMemory&) const = default;
};

class CgroupParents {
 public:
  using Clock = std::chrono::steady_clock;
  // mkdir(2), as tests replace it: the kernel fills a new cgroup with files.
  using MakeDirectory = std::function<int(const std::string& path)>;

  // Makes the one above all in every v1 hierarchy that can be written; `prefix` starts all names.
  // An error if a bound cannot be set. With v2: see add_family().
  static Result<CgroupParents> create(const CgroupRoots& roots, std::string prefix,
                                      const CgroupTotals& totals);
  static Result<CgroupParents> create(const CgroupRoots& roots, std::string prefix,
                                      const CgroupTotals& totals, MakeDirectory make_directory);
  // None: every sandbox is below the roots themselves.
  explicit CgroupParents(CgroupRoots roots) : roots_(std::move(roots)) {}
  CgroupParents(CgroupParents&& other) noexcept;
  CgroupParents& operator=(CgroupParents&& other) noexcept;
  ~CgroupParents();

  // The v2 one above all: the path of a CgroupFamily, which outlives all use of this object.
  Result<> add_family(const std::string& path);
  // Where this tenant's sandboxes are made. Makes its cgroups if they are not there.
  Result<CgroupRoots> roots_for(TenantNumber tenant);
  // Removes the cgroups of tenants that have had no sandbox for a while.
  void remove_idle(Clock::time_point now);
  // Removes all of them, once the sandboxes are gone. The destructor does the same.
  void remove();

  bool is_bounded() const { return !bases_.empty(); }
  // Besides the unnamed one.
  bool has_tenants() const { return tenants_.size() > tenants_.count(0); }
  const CgroupTotals& totals() const { return totals_; }
  CgroupTotalsNow now() const;
  // Only this, which is cheap to read.
  std::optional<std::uint32_t> pids() const;
  // Of every tenant but the unnamed one that has cgroups now.
  std::vector<TenantMemory> tenants() const;
  void set_tenant_memory(TenantNumber tenant, std::uint64_t bytes);

 private:
  // The one above all in one hierarchy.
  struct Base {
    std::string path;
    bool memory = false, pids = false, cpu = false, v2 = false;
  };
  struct Tenant {
    Clock::time_point used_at{};
    std::uint64_t memory_bytes = 0;  // its bound
    bool is_made = false;            // in every hierarchy
  };
  std::string tenant_name(TenantNumber tenant) const;
  Result<> set_bounds(const Base& base, const std::string& path, std::uint64_t memory_bytes,
                      std::uint32_t pids) const;
  // Whether it is new.
  Result<bool> make(const Base& base, const std::string& name);
  bool remove_tenant(TenantNumber tenant);
  const Base* base_with(bool Base::*what) const;

  CgroupRoots roots_;
  std::string prefix_;
  CgroupTotals totals_;
  MakeDirectory make_directory_;
  std::vector<Base> bases_;
  std::map<TenantNumber, Tenant> tenants_;
};

}  // namespace glovebox::sys
