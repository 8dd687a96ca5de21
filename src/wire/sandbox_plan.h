// What the launcher tells the broker and the sandbox's first process while a sandbox is made, and
// what that process answers. Both ends are of one build; still, the launcher trusts nothing that
// comes back: fixed kinds, bounded sizes.
//
//   launcher -> broker   MakeSandbox   (the agent's end of the socket goes along, and the v2 cgroup
//                                      to be born in, if there is one)
//   agent -> launcher    SandboxHello  (its user namespace goes along; the kernel says its pid)
//   launcher -> agent    SandboxBasics (/dev and the cgroups to join go along)
//   launcher -> agent    SandboxPlan   (the mounts go along)
//   agent -> launcher    SandboxSealed or SandboxFailed
//   launcher -> agent    SandboxTaken  (the client's link goes along; a spare waits here)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/guest_path.h"
#include "base/result.h"
#include "model/limits.h"
#include "model/wall.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxPlanMessage = 24 * 1024;

struct MakeSandbox {
  EngineKind engine = EngineKind::kJail;
  // First uid of the sandbox's slice as the nursery numbers it, and how many. One uid means there
  // is no slice to give (rootless): the guest's user is then the nursery's only one.
  std::uint32_t slice_first = 0;
  std::uint32_t slice_count = 1;
  bool operator==(const MakeSandbox&) const = default;
};

struct SandboxHello {
  bool operator==(const SandboxHello&) const = default;
};

// What the agent begins with while its files are being made. Descriptors: /dev, then a file per
// cgroup, to which it writes "0" before it forks anything.
struct SandboxBasics {
  std::uint8_t cgroups = 0;
  bool operator==(const SandboxBasics&) const = default;
};

// Descriptors of a plan, in this order: root, usr, shm, then one per mount.
struct SandboxPlan {
  Limits limits;
  bool memory_is_bounded = true;  // by a cgroup; else rlimits stand in
  std::vector<GuestPath> mounts;
  std::vector<std::uint8_t> mount_is_writable;
  // Of the process engine: a uid nobody else has, and the directory that stands for /home/user.
  bool own_uid = false;
  std::string home;
  bool operator==(const SandboxPlan&) const = default;
};

struct SandboxSealed {
  WallSet walls;
  bool operator==(const SandboxSealed&) const = default;
};
struct SandboxFailed {
  std::string step;
  int sys_errno = 0;
  bool operator==(const SandboxFailed&) const = default;
};

struct SandboxTaken {
  bool operator==(const SandboxTaken&) const = default;
};

using PlanMessage = std::variant<MakeSandbox, SandboxHello, SandboxBasics, SandboxPlan,
                                 SandboxSealed, SandboxFailed, SandboxTaken>;
std::vector<std::byte> encode(const PlanMessage& message);
Result<PlanMessage> decode_plan_message(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
