// What a caller wants: the sandbox, and the program in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/guest_path.h"
#include "model/limits.h"
#include "model/wall.h"

namespace glovebox {

// How far a sandbox's own network is made. Prepared: everything is there but the way to it; up:
// what it sends to any address comes to the sockets that the gateway is given.
enum class NetworkStage : std::uint8_t { kNone = 0, kPrepared = 1, kUp = 2 };

enum class MountMode : std::uint8_t { kReadOnly = 1, kReadWrite = 2 };

// A host path, opened by the client with its own rights; the launcher gets the descriptor.
struct MountSpec {
  MountMode mode = MountMode::kReadOnly;
  std::string host;
  GuestPath guest;
};

struct SandboxSpec {
  Limits limits;
  std::vector<MountSpec> mounts;
};

struct TerminalSize {
  std::uint16_t rows = 24;
  std::uint16_t columns = 80;
  bool operator==(const TerminalSize&) const = default;
};

struct ExecSpec {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // "NAME=value"
  std::string workdir = "/home/user";
  std::optional<TerminalSize> terminal;  // a new pty instead of pipes
  // Of a run: a name or a number of the guest's own passwd, perhaps with ":group"; empty: the
  // sandbox's user. It has no capability in any case. A session says it beside this.
  std::string user{};
  bool operator==(const ExecSpec&) const = default;
};

// A file of the caller's that is copied in before the program starts.
struct FileIn {
  std::string host;  // read by the client; unused when `content` is given
  GuestPath guest;
  std::optional<std::string> content;
  std::uint32_t mode = 0644;
};

// A file of the guest's that is copied out after the program has ended.
struct FileOut {
  GuestPath guest;
  std::string host;
};

}  // namespace glovebox
