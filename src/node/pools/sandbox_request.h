// What a run or a session needs of its sandbox.
#pragma once

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

}  // namespace glovebox::node
