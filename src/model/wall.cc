#include "model/wall.h"

namespace glovebox {

std::string_view wall_name(Wall wall) {
  switch (wall) {
    case Wall::kUserNamespace:
      return "user-namespace";
    case Wall::kUidSlice:
      return "uid-slice";
    case Wall::kPidNamespace:
      return "pid-namespace";
    case Wall::kMountNamespace:
      return "mount-namespace";
    case Wall::kNetNamespace:
      return "net-namespace";
    case Wall::kIpcNamespace:
      return "ipc-namespace";
    case Wall::kUtsNamespace:
      return "uts-namespace";
    case Wall::kCgroupNamespace:
      return "cgroup-namespace";
    case Wall::kPrivateRoot:
      return "private-root";
    case Wall::kIdmappedLayers:
      return "idmapped-layers";
    case Wall::kMaskedProc:
      return "masked-proc";
    case Wall::kMinimalDev:
      return "minimal-dev";
    case Wall::kNoCapabilities:
      return "no-capabilities";
    case Wall::kNoNewPrivileges:
      return "no-new-privileges";
    case Wall::kSeccomp:
      return "seccomp";
    case Wall::kLandlock:
      return "landlock";
    case Wall::kRlimits:
      return "rlimits";
    case Wall::kNamespaceQuotas:
      return "namespace-quotas";
    case Wall::kMemoryLimit:
      return "memory-limit";
    case Wall::kPidsLimit:
      return "pids-limit";
    case Wall::kCpuLimit:
      return "cpu-limit";
    case Wall::kImportPolicy:
      return "import-policy";
    case Wall::kScrubbedEnvironment:
      return "scrubbed-environment";
    case Wall::kBoundedCapabilities:
      return "bounded-capabilities";
    case Wall::kMemoryPerProcess:
      return "memory-limit-per-process";
    case Wall::kCpuTimePerProcess:
      return "cpu-time-limit-per-process";
    case Wall::kFreezer:
      return "freezer";
    case Wall::kRootOwnedCopies:
      return "root-owned-copies";
    case Wall::kCount:
      break;
  }
  return "unknown";
}

std::vector<std::string_view> WallSet::names() const {
  std::vector<std::string_view> names;
  for (unsigned i = 0; i < static_cast<unsigned>(Wall::kCount); ++i) {
    if (has(static_cast<Wall>(i))) names.push_back(wall_name(static_cast<Wall>(i)));
  }
  return names;
}

std::string_view engine_name(EngineKind engine) {
  return engine == EngineKind::kJail ? "jail" : "process";
}

namespace {
constexpr EngineKind kEngineKinds[] = {EngineKind::kJail, EngineKind::kProcess};
}

EngineKind const* parse_engine(std::string_view name) {
  for (const EngineKind& engine : kEngineKinds) {
    if (engine_name(engine) == name) return &engine;
  }
  return nullptr;
}

namespace {
constexpr Grade kGrades[] = {Grade::kProcess, Grade::kJailPartial, Grade::kJail, Grade::kUserKernel,
                             Grade::kVm};
}

std::string_view grade_name(Grade grade) {
  switch (grade) {
    case Grade::kProcess:
      return "process";
    case Grade::kJailPartial:
      return "jail-partial";
    case Grade::kJail:
      return "jail";
    case Grade::kUserKernel:
      return "user-kernel";
    case Grade::kVm:
      return "vm";
  }
  return "process";
}

Grade const* parse_grade(std::string_view name) {
  for (const Grade& grade : kGrades) {
    if (grade_name(grade) == name) return &grade;
  }
  return nullptr;
}

Grade grade_of(EngineKind engine, const WallSet& walls) {
  if (engine == EngineKind::kProcess) return Grade::kProcess;
  for (const Wall needed :
       {Wall::kUserNamespace, Wall::kUidSlice, Wall::kPidNamespace, Wall::kMountNamespace,
        Wall::kNetNamespace, Wall::kIpcNamespace, Wall::kUtsNamespace, Wall::kCgroupNamespace,
        Wall::kPrivateRoot, Wall::kMaskedProc, Wall::kMinimalDev, Wall::kSeccomp, Wall::kRlimits,
        Wall::kNamespaceQuotas, Wall::kMemoryLimit, Wall::kPidsLimit, Wall::kCpuLimit}) {
    if (!walls.has(needed)) return Grade::kJailPartial;
  }
  const bool none = walls.has(Wall::kNoCapabilities) && walls.has(Wall::kNoNewPrivileges);
  if (!none && !walls.has(Wall::kBoundedCapabilities)) return Grade::kJailPartial;
  return Grade::kJail;
}

bool can_pause(const WallSet& walls) { return walls.has(Wall::kFreezer); }

bool can_sudo(const WallSet& walls) {
  return walls.has(Wall::kUidSlice) &&
         (walls.has(Wall::kIdmappedLayers) || walls.has(Wall::kRootOwnedCopies));
}

}  // namespace glovebox
