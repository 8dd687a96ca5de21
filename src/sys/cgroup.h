// One sandbox's cgroups: a directory of the same name in every hierarchy this host has, v2 where
// it has controllers, v1 otherwise, and the v2 tree beside v1 for killing. Removed on destruction.
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

// Where sandboxes' cgroups go. An empty path means that hierarchy is not there for us.
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
};

struct CgroupLimits {
  std::uint64_t memory_bytes = 0;
  std::uint32_t pids = 0;
  std::uint32_t cpu_thousandths = 0;
  bool operator==(const CgroupLimits&) const = default;
};

// What could really be set up: a limit that is false here is not enforced by a cgroup.
struct CgroupFeatures {
  bool any = false;
  bool memory = false;
  bool pids = false;
  bool cpu = false;
};

// What is used at this moment; nothing where nobody counts it.
struct CgroupNow {
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint32_t> processes;
};

struct CgroupUsage {
  std::uint64_t cpu_us = 0;
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::uint32_t> processes_peak;
  std::uint32_t oom_kills = 0;
};

// A launcher's own v2 cgroup. Its nursery is born in it and its sandboxes' v2 cgroups are below it,
// because the kernel lets a process fork into another cgroup only where it could write
// `cgroup.procs` both there and in the nearest common parent.
class CgroupFamily {
 public:
  static Result<CgroupFamily> create(const CgroupRoots& roots, const std::string& name, uid_t root);
  CgroupFamily(CgroupFamily&& other) noexcept
      : path_(std::exchange(other.path_, {})),
        root_(other.root_),
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
  UniqueFd nursery_;
};

class Cgroup {
 public:
  // Makes the directories and sets the limits. Hierarchies we may not write to are left out and
  // told by features(); a half-made one is removed.
  // In the v2 tree it goes below `family`, and whoever is root of `family` may fork into it.
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
  // For a process to put itself, and all that it will fork, into the v1 directories: being
  // single-threaded, it writes "0" to each. The kernel looks at the rights of whoever opened them.
  // The v2 one is there for a process that cannot be born in it, and waits for the system's lock.
  // First those that count what a process has, then those that slow it down or stop it (v1's cpu
  // and freezer), `*slowing` many: whoever others wait for may leave these to his child.
  enum class JoinV2 : bool { kNo, kYes };
  Result<std::vector<UniqueFd>> open_join_files(JoinV2 v2 = JoinV2::kNo,
                                                std::size_t* slowing = nullptr) const;
  // Sets them anew; features() tells which of them hold.
  void set_limits(const CgroupLimits& limits);
  // The v2 directory, which a process is born into (clone_into); -1 if there is none.
  int v2_dir() const;
  std::uint64_t cpu_us() const;
  CgroupUsage usage() const;
  CgroupNow now() const;
  // Its memory without copies of files, which the kernel takes back when it needs the room.
  std::optional<std::uint64_t> firm_memory_bytes() const;
  // Processes inside that live; the dead who wait for their parent are none. Nothing where there is
  // no directory to count in.
  std::optional<std::size_t> members() const;
  // Stops all that is inside where it is, or lets it go on. The kernel takes its time: is_frozen().
  // kUnsupported if no hierarchy of this cgroup can.
  Result<> freeze(bool frozen) const;
  bool is_frozen() const;
  // Kills what is inside, if the kernel has cgroup.kill.
  void kill() const;
  // Waits shortly for the dead to leave, then kills who is left, and removes. May be called again
  // after it failed. The destructor does the same and logs.
  Result<> remove();
  // The same, but for a v1 memory cgroup, which stays for a later call of remove(): what it still
  // counts is let go by the kernel in its own time, and forcing it at once takes half a
  // millisecond.
  Result<> remove_but_for_memory();
  // The same without waiting for anybody: kills who is inside, and removes what is empty by now.
  Result<> remove_now();
  bool is_removed() const { return parts_.empty(); }

  // Removes every cgroup whose name starts with `prefix`, killing what is inside; how many.
  static int sweep(const CgroupRoots& roots, std::string_view prefix);

 private:
  struct Part {
    std::string parent;
    UniqueFd dir;
    bool v2 = false;
    bool memory = false, pids = false, cpu = false, cpuacct = false, freezer = false;
  };
  Result<> remove_parts(bool memory_too);
  Result<> remove_part(Part& part, bool waits);
  Result<> add_part(const std::string& parent, Part part);
  const Part* part_with(bool Part::*what) const;

  std::string name_;
  std::vector<Part> parts_;
  CgroupFeatures features_;
};

}  // namespace glovebox::sys
