#include "model/engine_info.h"

namespace glovebox {
namespace {

constexpr EngineInfo kInfos[] = {
    {.kind = EngineKind::kJail,
     .description = "Linux namespaces with a uid range, root and limits of their own",
     .sessions = true,
     .warm = true,
     .mounts = true,
     .network = true,
     .packages = true,
     .snapshots = true,
     .terminal = true},
    {.kind = EngineKind::kProcess,
     .description = "rlimits, seccomp and Landlock around a process; not a security boundary",
     .not_for_servers = "the launcher does not let a server use it, because it is not a "
                        "security boundary; locally: glovebox run --engine process",
     .terminal = true},
};

}  // namespace

std::span<const EngineInfo> all_engines() { return kInfos; }

const EngineInfo& engine_info(EngineKind kind) {
  for (const EngineInfo& info : kInfos) {
    if (info.kind == kind) return info;
  }
  return kInfos[0];
}

}  // namespace glovebox
