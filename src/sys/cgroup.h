// One sandbox's cgroups: a directory of the same name in every hierarchy of this host, v2 where it
// has controllers, v1 otherwise, and v2 beside v1 for killing. Removed by the destructor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

// The parents of sandboxes' cgroups. An empty path: the hierarchy is not available.
struct CgroupRoots {
  std::string v2{};
  bool v2_controls = false;  // limits through v2; else through the v1 roots below
  std::string v1_memory{};
  std::string v1_pids{};
  std::string v1_cpu{};
  std::string v1_cpuacct{};
  std::string v1_freezer{};  // for what is to be stopped and let go on; never with v2_controls
  // Whether a v2 cgroup may be made below the root itself, for a process that is moved there with
  // join(); also beside v1, for killing what no pid namespace holds together.
  bool v2_directly = true;
  // Below the family's own directory (CgroupFamily); empty: in that directory itself.
  std::string v2_group{};
};

// The kernel's default: its part beside others that want the same CPUs.
inline constexpr std::uint32_t kFullCpuWeight = 1024;

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;
  std::uint64_t socket_bytes = 0;  // of these, on v1: see split_memory(); 0: as that says
  std::uint32_t pids = 0;
  std::uint32_t cpu_thousandths = 0;
  std::uint32_t cpu_weight = kFullCpuWeight;
  bool operator==(const CgroupLimits&) const = default;
};

// What could really be set up: a limit that is false here is not enforced by a cgroup.
struct CgroupFeatures {
  bool any = false;
  bool memory = false;
  bool pids = false;
  bool cpu = false;
  bool cpu_time = false;  // counted, of all processes together
  bool freezer = false;   // all processes can be frozen
};

// v1 counts the buffers of sockets apart from all other memory. So that both together stay within
// one bound, a sixteenth of it is for sockets (of a small one up to an eighth) and the rest for
// everything else.
struct MemorySplit {
  std::uint64_t memory_bytes = 0;
  std::uint64_t socket_bytes = 0;
};
MemorySplit split_memory(std::uint64_t bytes);

// Current usage; nothing where no controller counts it.
struct CgroupNow {
  std::optional<std::uint64_t> memory_bytes;  // with the buffers of sockets
  std::uint64_t socket_bytes = 0;             // of these
  std::optional<std::uint32_t> processes;
};

struct CgroupUsage {
  std::uint64_t cpu_us = 0;
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::uint32_t> processes_peak;
  std::uint32_t oom_kills = 0;
};

// A launcher's own v2 cgroup. Its nurseries are cloned into it and its sandboxes' v2 cgroups are
// below it, because the kernel lets a process fork into another cgroup only if it can write
// `cgroup.procs` both there and in the nearest common ancestor.
class CgroupFamily {
 public:
  static Result<CgroupFamily> create(const CgroupRoots& roots, const std::string& name, uid_t root);
  CgroupFamily(CgroupFamily&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        root_(other.root_),
        lock_(std::move(other.lock_)),
        nursery_(std::move(other.nursery_)) {}
  CgroupFamily& operator=(CgroupFamily&&) = delete;
  ~CgroupFamily();

  const std::string& path() const { return path_; }
  uid_t root() const { return root_; }
  int nursery_dir() const { return nursery_.get(); }

 private:
  CgroupFamily() = default;
  std::string path_;
  uid_t root_ = 0;
  // A shared lock: a launcher that does not see the owner's record removes only what is not locked.
  UniqueFd lock_;
  UniqueFd nursery_;
};

class Cgroup {
 public:
  // Creates the directories and sets the limits. Hierarchies that cannot be written are left out,
  // see features(). In the v2 hierarchy it is below `family`, and the owner of `family` may fork
  // into it.
  static Result<Cgroup> create(const CgroupRoots& roots, const CgroupFamily* family,
                               const std::string& name, const CgroupLimits& limits);
  Cgroup() = default;
  Cgroup(Cgroup&&) noexcept = default;
  Cgroup& operator=(Cgroup&& other) noexcept;
  ~Cgroup();

  const CgroupFeatures& features() const { return features_; }
  // Moves a process, and all that it will fork, into every one of the directories. Waits for the
  // kernel's whole-system lock, 7 to 27 ms after a quiet moment: the two ways below do not.
  Result<> join(pid_t pid) const;
  // Files with which a single-threaded process moves itself, and all that it will fork, into the v1
  // directories by writing "0" to each. The kernel checks the rights of the process that opened
  // them. The v2 one is for a process that cannot be cloned into it, and takes the system-wide
  // lock. First those that only count, then the `*throttling` ones that slow a process down or stop
  // it (v1's cpu and freezer): a process that others wait for leaves these to its child. A v2 one
  // is the first.
  enum class JoinV2 : bool { kNo, kYes };
  Result<std::vector<UniqueFd>> open_join_files(JoinV2 v2 = JoinV2::kNo,
                                                std::size_t* throttling = nullptr) const;
  // The same for a process of `user`, when we are not root of the host: then v1 moves a process
  // only for its own user. That user owns these files from then on. Needs our own user namespace,
  // and that we are root there.
  Result<std::vector<UniqueFd>> open_join_files_as(uid_t user) const;
  // Sets those that are others than before; features() tells which of them hold.
  void set_limits(const CgroupLimits& limits);
  // The v2 directory, which a process is born into (clone_into); -1 if there is none.
  int v2_dir() const;
  std::uint64_t cpu_us() const;
  CgroupUsage usage() const;
  // From now on the peak of the memory is counted anew. False: this kernel cannot do that.
  bool reset_peak_memory() const;
  CgroupNow now() const;
  // Its memory without page cache, which the kernel can reclaim.
  std::optional<std::uint64_t> firm_memory_bytes() const;
  std::uint64_t page_cache_bytes() const;
  // Live processes inside, without zombies. Nothing without a directory to count in.
  std::optional<std::size_t> members() const;
  // Freezes or thaws all processes inside. Asynchronous: see is_frozen().
  // kUnsupported if no hierarchy of this cgroup can.
  Result<> freeze(bool frozen) const;
  bool is_frozen() const;
  // Kills what is inside, if the kernel has cgroup.kill.
  void kill() const;
  // Waits briefly for dead processes to leave, then kills the others, and removes the directories.
  // May be called again after it failed. The destructor does the same and logs.
  Result<> remove();
  // The same except for a v1 memory cgroup, which is left to a later remove(): the kernel uncharges
  // its pages asynchronously, and forcing that takes half a millisecond.
  Result<> remove_but_for_memory();
  // The same without waiting: kills all processes inside, and removes what is empty by now.
  Result<> remove_now();
  bool is_removed() const { return parts_.empty(); }

  // Removes every cgroup whose name starts with `prefix` and all below it, killing the processes
  // inside; returns how many, without those below.
  static int sweep(const CgroupRoots& roots, std::string_view prefix);

 private:
  struct Part {
    std::string parent;
    UniqueFd dir;
    bool v2 = false;
    bool memory = false, pids = false, cpu = false, cpuacct = false, freezer = false;
  };
  static bool set_control(const Part& part, const char* file, const std::string& value);
  static bool set_memory(const Part& part, const CgroupLimits& limits);
  Result<> remove_parts(bool memory_too);
  Result<> remove_part(Part& part, bool waits);
  Result<> add_part(const std::string& parent, Part part);
  const Part* part_with(bool Part::*what) const;

  std::string name_;
  std::vector<Part> parts_;
  CgroupFeatures features_;
  std::optional<CgroupLimits> limits_;  // as they were set last
};

}  // namespace glovebox::sys
