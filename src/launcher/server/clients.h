// Who asks a launcher for sandboxes, and what is theirs. Plain records of its one loop.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "launcher/jail/jail_mounts.h"
#include "launcher/sandbox/sandbox.h"
#include "model/limits.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

// A request that takes long enough for others to come before it.
struct PendingCreate {
  wire::CreateSandbox request;
  std::vector<UniqueFd> fds;
};

struct Client;

// What the answer to a request needs, while its jail is being made.
struct Expected {
  Client* client;  // null once it has gone
  std::uint32_t seq = 0;
  Limits limits;
  std::string template_name;
  bool waits = false;
  std::string layer{};  // that it makes or looks at
};

// Sessions that a client has been given and is still to be told of.
struct Listing {
  std::uint32_t seq = 0;
  std::deque<SandboxId> left;
};

// Layers that a client is still to be told of.
struct LayerListing {
  std::uint32_t seq = 0;
  std::deque<std::string> left;
};

struct Client {
  UniqueFd socket;
  Caller caller;
  bool gone = false;
  std::deque<PendingCreate> creates{};
  std::optional<Listing> listing{};
  std::optional<LayerListing> layer_listing{};
  // Templates of which there is news that it has not been told: when it has read some.
  std::set<std::string> news{};
  bool is_behind = false;  // with reading our answers: it is not listened to meanwhile
};

struct Owned {
  Sandbox sandbox;
  // Null once the client has gone: the sandbox is dying then, or a session that waits for another.
  Client* client;
  std::uint32_t seq = 0;  // of the request, for the answer
  Limits limits;          // to be taken with, unless it waits
  std::string template_name;
  bool waits = false;      // for TakeSandbox
  bool announced = false;  // the client knows of it
  std::string layer{};     // that it makes or looks at
};

}  // namespace glovebox::launcher
