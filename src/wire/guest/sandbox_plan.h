// The setup protocol: what the launcher sends to the broker and to the sandbox's first process
// while a sandbox is created, and what that process answers. Both ends are of one build; still, the
// launcher trusts nothing that comes back: fixed kinds, bounded sizes.
//
//   launcher -> broker   MakeSandbox   (the agent's end of the socket goes along, and the v2 cgroup
//                                      to be born in, if there is one)
//   agent -> launcher    SandboxHello  (its user namespace goes along; the kernel says its pid)
//   launcher -> agent    SandboxBasics (/dev and the cgroups to join go along)
//   launcher -> agent    SandboxPlan   (the mounts go along)
//   agent -> launcher    SandboxSealed or SandboxFailed (with a runtime that is forked into the
//                                      sandbox, all that its joining needs goes along)
//   agent -> launcher    RuntimeReady  (a runtime waits in the sandbox) or SandboxFailed
//   launcher -> agent    SandboxTaken  (the client's link goes along; a spare waits here)
//
// The agent of a reusable sandbox keeps its socket to the launcher. After each call:
//
//   launcher -> agent    CleanSandbox (the call is over; a new scratch goes along)
//   agent -> launcher    JoinRuntime    (nothing of the call is left; what the next runtime needs
//                                        goes along), or it exits and the sandbox ends
//   agent -> launcher    RuntimeReady, and so on as above
//
// A session's agent keeps its socket to the launcher for as long as it lives:
//
//   agent -> launcher    JoinRuntime   (a runtime is to be joined; its descriptors go along)
//   launcher -> agent    JoinRefused   (no runtime will use these descriptors)
//   launcher -> agent    RaiseNetwork  (a network that was prepared is wanted now)
//
//   launcher -> broker   MakeZygote    (its socket, its files and the cgroups to join go along)
#pragma once

#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/guest_path.h"
#include "base/result.h"
#include "model/limits.h"
#include "model/sandbox_shares.h"
#include "model/sandbox_spec.h"
#include "model/template.h"
#include "model/wall.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxPlanMessage = 24 * 1024;

struct MakeSandbox {
  EngineKind engine = EngineKind::kJail;
  // First uid of the sandbox's slice as the nursery numbers it, and how many: a small slice has the
  // first numbers inside, and nobody. One uid means there is no slice to give (rootless): the
  // guest's user is then the nursery's root.
  std::uint32_t slice_first = 0;
  std::uint32_t slice_count = 1;
  // Who makes the sandbox's user namespace, in the nursery's numbers: the slice's own root, so that
  // what the kernel charges to makers is charged to no other user; or the zygote that is to be let
  // in.
  std::uint32_t maker = 0;
  // How many processes all its users may have together; 0: a cgroup bounds them.
  std::uint32_t processes = 0;
  bool operator==(const MakeSandbox&) const = default;
};

// Descriptors: the zygote's socket, root, usr, dev, its boot id, then a file per cgroup.
struct MakeZygote {
  std::uint32_t uid = 0;  // in the nursery's numbers; used by this zygote only
  std::uint8_t cgroups = 0;
  std::vector<std::string> argv;
  std::vector<std::string> env;
  bool operator==(const MakeZygote&) const = default;
};

struct SandboxHello {
  bool operator==(const SandboxHello&) const = default;
};

// What the agent begins with while its files are being made. Descriptors: /dev, then a file per
// cgroup, to which it writes "0" before it forks anything.
struct SandboxBasics {
  std::uint8_t cgroups = 0;
  NetworkStage network = NetworkStage::kNone;
  SandboxShares shares;
  // Serves one call after the other, each with a runtime and writable files of its own.
  bool reusable = false;
  bool operator==(const SandboxBasics&) const = default;
};

// Descriptors of a plan, in this order: root, usr, shm, its boot id, of a session its upper (the
// root of its writable filesystem), of a reusable sandbox its first scratch, then one per mount.
struct SandboxPlan {
  Limits limits;
  bool memory_is_bounded = true;    // by a cgroup; else rlimits stand in
  bool cpu_time_is_counted = true;  // the same
  std::vector<GuestPath> mounts;
  std::vector<std::uint8_t> mount_is_writable;
  // Of the process engine: a uid of its own, and the directory that stands for /home/user.
  bool own_uid = false;
  std::string home;
  // What waits in the sandbox for a job. `runtime_argv` is for one that the agent starts itself.
  RuntimeKind runtime = RuntimeKind::kNone;
  std::vector<std::string> runtime_argv;
  std::vector<std::string> runtime_env;
  // Serves a session instead of one program.
  bool session = false;
  // Its root is that of an image.
  bool image = false;
  bool operator==(const SandboxPlan&) const = default;
};

// With a network, first of all its two sockets: the listening one and the one for names. With a
// runtime that joins, then its descriptors: kNamespacesOfASandbox namespaces (user, mount, pid,
// net, ipc, uts, cgroup), then kDescriptorsOfARuntime for it: stdin, stdout, stderr, results, the
// job, its socket, and the Landlock ruleset if the kernel has Landlock.
inline constexpr std::size_t kNamespacesOfASandbox = 7;
inline constexpr std::size_t kDescriptorsOfARuntime = 6;
inline constexpr std::size_t kSocketsOfANetwork = 2;
struct SandboxSealed {
  WallSet walls;
  bool network = false;
  bool operator==(const SandboxSealed&) const = default;
};
struct SandboxFailed {
  std::string step;
  int sys_errno = 0;
  bool operator==(const SandboxFailed&) const = default;
};

struct RuntimeReady {
  bool operator==(const RuntimeReady&) const = default;
};

struct SandboxTaken {
  Limits limits;
  bool network_up = false;
  bool operator==(const SandboxTaken&) const = default;
};

// Descriptors: kDescriptorsOfARuntime for it, of a reusable sandbox then the Landlock ruleset if
// the kernel has Landlock. The launcher has the sandbox's namespaces, or opens them itself. If all
// is well nothing is answered: the zygote's child takes the descriptors, and dies if their other
// ends are closed. RuntimeReady or SandboxFailed say that it has, or never will; the next
// JoinRuntime says the same.
struct JoinRuntime {
  std::uint32_t ticket = 0;
  bool operator==(const JoinRuntime&) const = default;
};
struct JoinRefused {
  std::uint32_t ticket = 0;
  std::string why;
  bool operator==(const JoinRefused&) const = default;
};

struct RaiseNetwork {
  bool operator==(const RaiseNetwork&) const = default;
};

// All that the guest of a reusable sandbox can write to: one tmpfs, seen at these places. Its
// descriptors are a mount for each of them, then the tmpfs itself, which is closed when these are
// attached. Made by the launcher: of a tmpfs that is mounted inside, /proc/mounts would show the
// owner by its number on the host.
inline constexpr const char* kScratchPlaces[] = {"/home", "/tmp", "/var/tmp", "/dev/shm"};
inline constexpr std::size_t kDescriptorsOfAScratch = std::size(kScratchPlaces) + 1;

// Descriptors: a new scratch.
struct CleanSandbox {
  bool operator==(const CleanSandbox&) const = default;
};

using PlanMessage = std::variant<MakeSandbox, MakeZygote, SandboxHello, SandboxBasics, SandboxPlan,
                                 SandboxSealed, SandboxFailed, RuntimeReady, SandboxTaken,
                                 JoinRuntime, JoinRefused, RaiseNetwork, CleanSandbox>;
std::vector<std::byte> encode(const PlanMessage& message);
Result<PlanMessage> decode_plan_message(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
