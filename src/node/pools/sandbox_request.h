// What a run or a session needs of its sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/pools/pool.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::node {

struct SandboxRequest {
  PoolKey key;
  Limits limits;
  std::vector<wire::MountRequest> mounts;
  bool runtime = false;  // code for the template's runtime, not a program
  bool cold = false;     // not one that has a runtime waiting in it
  bool pooled = true;    // false: created for this run alone
  bool session = false;  // for a session: never taken from a pool
  bool network = false;  // it will be given a network
  std::string owner;
  std::string project;
  std::string layer{};  // of a session: as in wire::CreateSandbox
  bool make_layer = false;
};

inline Pool::For pool_kind(const SandboxRequest& request) {
  return request.network ? Pool::For::kNetwork : Pool::For::kAny;
}

// What a sandbox in use may need of this host.
inline std::uint64_t bytes_of(const Limits& limits) {
  const std::uint64_t sum = limits.memory_bytes + limits.disk_bytes;
  return sum < limits.memory_bytes ? UINT64_MAX : sum;
}

}  // namespace glovebox::node
