// What client and launcher say to each other: fixed kinds, bounded sizes, versioned from the first
// byte. The launcher treats every message as hostile; descriptors travel beside the bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/guest_path.h"
#include "base/id.h"
#include "base/result.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"
#include "model/wall.h"

namespace glovebox::wire {

inline constexpr std::uint8_t kLauncherProtocol = 1;
inline constexpr std::size_t kMaxLauncherMessage = 24 * 1024;
inline constexpr std::size_t kMaxMounts = 16;

struct MountRequest {
  MountMode mode = MountMode::kReadOnly;
  GuestPath guest;
  bool operator==(const MountRequest&) const = default;
};

// Descriptors: [0] the agent's end of the sandbox's socket, then one per mount.
struct CreateSandbox {
  EngineKind engine = EngineKind::kJail;
  std::string template_name = "host";
  Limits limits;
  std::vector<MountRequest> mounts;
  bool operator==(const CreateSandbox&) const = default;
};
struct DestroySandbox {
  SandboxId id;
  bool operator==(const DestroySandbox&) const = default;
};
using LauncherRequest = std::variant<CreateSandbox, DestroySandbox>;

// Sent as soon as the sandbox is sealed and its agent listens.
struct SandboxCreated {
  SandboxId id;
  WallSet walls;
  bool operator==(const SandboxCreated&) const = default;
};
struct SandboxRefused {
  Errc code = Errc::kInternal;
  int sys_errno = 0;
  std::string message;
  bool operator==(const SandboxRefused&) const = default;
};
struct SandboxEnded {
  SandboxId id;
  EndReason reason = EndReason::kExited;
  Usage usage;
  bool operator==(const SandboxEnded&) const = default;
};
using LauncherReply = std::variant<SandboxCreated, SandboxRefused, SandboxEnded>;

std::vector<std::byte> encode(const LauncherRequest& request);
std::vector<std::byte> encode(const LauncherReply& reply);
Result<LauncherRequest> decode_launcher_request(std::span<const std::byte> bytes);
Result<LauncherReply> decode_launcher_reply(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
