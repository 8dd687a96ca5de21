// What a run or a session needs of its sandbox.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "node/pools/pool.h"
#include "node/pools/tenant_number.h"
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
  // Of a run that may share its sandbox with others of this key, one after the other; empty: never.
  std::string reuse{};
};

inline Pool::For pool_kind(const SandboxRequest& request) {
  return request.network ? Pool::For::kNetwork : Pool::For::kAny;
}

// How the launcher is asked for a sandbox that is made for this request.
inline wire::CreateSandbox creation_of(const SandboxRequest& request) {
  wire::CreateSandbox create;
  create.engine = request.key.engine;
  create.template_name = request.key.template_name;
  create.limits = request.limits;
  create.mounts = request.mounts;
  create.project = request.project;
  create.tenant = tenant_number(request.project);
  create.session = request.session;
  create.layer = request.layer;
  create.make_layer = request.make_layer;
  // A session's network is brought up when the gateway gets its sockets, perhaps much later.
  create.network = request.session   ? NetworkStage::kPrepared
                   : request.network ? NetworkStage::kUp
                                     : NetworkStage::kNone;
  return create;
}

// What a sandbox in use may need of this host.
inline std::uint64_t bytes_of(const Limits& limits) {
  const std::uint64_t sum = limits.memory_bytes + limits.disk_bytes;
  return sum < limits.memory_bytes ? UINT64_MAX : sum;
}

}  // namespace glovebox::node
