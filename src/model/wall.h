// The walls that can confine a sandbox, and the grade they add up to. An answer lists the walls
// that were really up; if a wall that was asked for cannot be set up, the sandbox does not start.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace glovebox {

enum class Wall : std::uint8_t {
  kUserNamespace,
  kUidSlice,  // host uids of its own
  kPidNamespace,
  kMountNamespace,
  kNetNamespace,
  kIpcNamespace,
  kUtsNamespace,
  kCgroupNamespace,
  kPrivateRoot,     // pivot_root into an overlay; the old root is detached
  kIdmappedLayers,  // host files keep their owners inside, and are read-only
  kMaskedProc,
  kMinimalDev,
  kNoCapabilities,
  kNoNewPrivileges,
  kSeccomp,
  kLandlock,
  kRlimits,
  kNamespaceQuotas,  // user.max_* of the sandbox's own user namespace
  kMemoryLimit,
  kPidsLimit,
  kCpuLimit,
  kImportPolicy,  // process engine: Python modules that may not be imported
  kScrubbedEnvironment,
  // Of a session, in place of the two above: root inside has a few capabilities in
  // its own user namespace, and no way to others.
  kBoundedCapabilities,
  // Where no cgroup bounds all processes together, rlimits bound each of them.
  kMemoryPerProcess,
  kCpuTimePerProcess,
  // Of a session: all its processes can be stopped at once, which is what a pause does.
  kFreezer,
  // Of a session where the host's files cannot be idmapped: what root inside must own is copied for
  // it.
  kRootOwnedCopies,
  kCount,
};

std::string_view wall_name(Wall wall);

class WallSet {
 public:
  WallSet() = default;
  explicit WallSet(std::uint32_t bits) : bits_(bits & kAll) {}
  void add(Wall wall) { bits_ |= bit(wall); }
  void remove(Wall wall) { bits_ &= ~bit(wall); }
  bool has(Wall wall) const { return (bits_ & bit(wall)) != 0; }
  std::uint32_t bits() const { return bits_; }
  std::vector<std::string_view> names() const;
  bool operator==(const WallSet&) const = default;

 private:
  static constexpr std::uint32_t bit(Wall wall) { return 1u << static_cast<unsigned>(wall); }
  static constexpr std::uint32_t kAll = (1u << static_cast<unsigned>(Wall::kCount)) - 1;
  std::uint32_t bits_ = 0;
};

enum class EngineKind : std::uint8_t { kProcess = 1, kJail = 2 };
std::string_view engine_name(EngineKind engine);
// Null when the name is unknown.
EngineKind const* parse_engine(std::string_view name);

// Weakest first; comparison is the order of strength.
enum class Grade : std::uint8_t { kProcess = 1, kJailPartial, kJail, kUserKernel, kVm };
std::string_view grade_name(Grade grade);
// Empty when the name is unknown.
Grade const* parse_grade(std::string_view name);

// What these walls are worth. A jail is `jail` only with every wall that keeps guests apart and
// bounded; Landlock and idmapped layers are on top and do not count.
Grade grade_of(EngineKind engine, const WallSet& walls);

// What a session with these walls can do besides running programs.
bool can_pause(const WallSet& walls);
// Other users than the usual one, and the programs that change to them: root's files are root's.
bool can_sudo(const WallSet& walls);

}  // namespace glovebox
