// A client of the launcher: a program that asks for sandboxes over a connection of its own. A plain
// record; ClientConnections owns it, and the request handlers keep in it what they still have to
// send.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/id.h"
#include "base/unique_fd.h"
#include "launcher/jail/jail_mounts.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

// A request that takes long enough for others to be served before it.
struct PendingCreate {
  wire::CreateSandbox request;
  std::vector<UniqueFd> fds;
};

// SessionControl that were handed over to a client and are still to be sent to it.
struct SandboxListing {
  std::uint32_t seq = 0;
  std::deque<SandboxId> left;
};

// Layers that are still to be sent to a client.
struct LayerListing {
  std::uint32_t seq = 0;
  std::deque<std::string> left;
};

struct Client {
  UniqueFd socket;
  Caller caller;
  bool gone = false;  // removed from the list at the end of the round
  std::deque<PendingCreate> creates{};
  std::optional<SandboxListing> sandbox_listing{};
  std::optional<LayerListing> layer_listing{};
  // Templates whose changed status has not been sent yet.
  std::set<std::string> changed_templates{};
  bool is_blocked = false;  // its socket is full; its requests are not read until it has room
};

}  // namespace glovebox::launcher
