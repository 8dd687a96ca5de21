// What the launcher remembers of a sandbox besides the sandbox itself: which client has it, and
// what the reply to that client needs. Plain records of SandboxTable.
#pragma once

#include <cstdint>
#include <string>

#include "launcher/sandbox/sandbox.h"
#include "launcher/server/client.h"
#include "model/limits.h"

namespace glovebox::launcher {

// A request whose jail is being made.
struct PendingSandbox {
  Client* client;  // null once it has gone
  std::uint32_t seq = 0;
  Limits limits;
  std::string template_name;
  bool waits = false;   // stays untaken until TakeSandbox
  std::string layer{};  // the layer that it makes or reads
  std::uint64_t tenant = 0;
};

struct SandboxRecord {
  Sandbox sandbox;
  // Null once the client has gone: the sandbox is being ended then, or it is a session that waits
  // for the next server.
  Client* client;
  std::uint32_t seq = 0;  // of the request
  Limits limits;          // to be taken with, unless it waits
  std::string template_name;
  bool waits = false;        // stays untaken until TakeSandbox
  bool announced = false;    // the client was told of it
  std::string layer{};       // the layer that it makes or reads
  std::uint64_t tenant = 0;  // whose memory it uses; 0: no tenant's in particular
};

}  // namespace glovebox::launcher
