// The protocol between client and launcher: fixed kinds, bounded sizes, versioned from the first
// byte. The launcher treats every message as hostile; descriptors travel beside the bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/guest_path.h"
#include "base/id.h"
#include "base/result.h"
#include "model/layer.h"
#include "model/limits.h"
#include "model/outcome.h"
#include "model/sandbox_spec.h"
#include "model/template.h"
#include "model/wall.h"

namespace glovebox::wire {

inline constexpr std::uint8_t kLauncherProtocol = 10;
inline constexpr std::size_t kMaxLauncherMessage = 32 * 1024;
inline constexpr std::size_t kMaxMounts = 16;
inline constexpr std::uint16_t kFullCpuWeight = 1024;
inline constexpr std::size_t kMaxMountName = 512;

struct MountRequest {
  MountMode mode = MountMode::kReadOnly;
  GuestPath guest;
  // An entry of the administrator's list, or of a private server an absolute host path, opened by
  // the launcher; empty: a descriptor goes along.
  std::string name;
  bool operator==(const MountRequest&) const = default;
};

using glovebox::NetworkStage;

// Descriptors: [0] the agent's end of the sandbox's socket, of a session [1] the server's own end
// (kept by the launcher for the server's successor), then one per mount without a name. Answered by
// SandboxCreated or SandboxRefused with the same `seq`.
struct CreateSandbox {
  std::uint32_t seq = 0;
  EngineKind engine = EngineKind::kJail;
  std::string template_name = "base";
  Limits limits;
  std::vector<MountRequest> mounts;
  // Whether the template's runtime is to wait in it for a job (see StartJob in guest_frames.h).
  bool warm = false;
  // Of a warm one: runs wait for sandboxes, so its runtime does not rehearse. The rehearsal saves
  // the run half a millisecond, and costs twice as much CPU time.
  bool hurry = false;
  // Whether it waits for TakeSandbox; until then no frame on its socket is looked at, and no time
  // counts.
  bool waits = false;
  // Whether it lives on when its client, a server, goes (see ListSandboxes). No clock ends it; it
  // is neither warm nor does it wait, but a runtime can be joined to it later if its template has
  // one. Its /usr can be written, and its root can use programs that change users.
  bool session = false;
  // For whom, as a server says: an entry of the list of mounts may be for some projects only.
  std::string project;
  // One that waits can only be prepared. Where the host's kernel cannot do it, `up` is refused, and
  // `prepared` is left out: SandboxCreated says so.
  NetworkStage network = NetworkStage::kNone;
  // Of a server's session, in which a layer is made or looked at: it is mounted at
  // kLayerMountPoint, which only the sandbox's root can write. `make_layer`: new and empty, and
  // nothing else may be of this id; it is thrown away unless KeepLayer follows once this sandbox
  // has ended.
  std::string layer = {};
  bool make_layer = false;
  // Whose share of the host it uses, as a server says: an opaque number, the same for all sandboxes
  // of a project. 0: of no project in particular.
  std::uint64_t tenant = 0;
  // Of a warm one that waits: it serves one call after the other (RecycleSandbox). Its limits are
  // those of every call, and no directory of the host can be written in it.
  bool reusable = false;
  bool operator==(const CreateSandbox&) const = default;
};
// Gives a waiting sandbox to a run, with the run's limits. Not answered on success: the agent
// continues with the frames that wait on its socket. Refused with seq 0 and the sandbox ended
// otherwise.
struct TakeSandbox {
  SandboxId id;
  Limits limits;
  bool network_up = false;  // one that was prepared
  // Its part of the CPUs when all of them are wanted, beside other runs'; at most kFullCpuWeight.
  std::uint16_t cpu_weight = kFullCpuWeight;
  std::uint64_t tenant = 0;  // as CreateSandbox's
  bool operator==(const TakeSandbox&) const = default;
};
// The call in a reusable sandbox is over. Answered by SandboxEnded with what the call used; then,
// when nothing of the call is left and a new runtime waits in it, by SandboxCreated with this `seq`
// and the same id, or by SandboxRefused: it is ended. Descriptor: the agent's end of the socket for
// the next call. With `keeps_runtime` nothing is removed and there is no descriptor: the runtime
// and the agent wait for the next call as they are, and only time and usage begin anew with the
// take.
struct RecycleSandbox {
  std::uint32_t seq = 0;
  SandboxId id;
  bool hurry = false;  // as CreateSandbox's
  bool keeps_runtime = false;
  bool operator==(const RecycleSandbox&) const = default;
};
struct DestroySandbox {
  SandboxId id;
  bool operator==(const DestroySandbox&) const = default;
};
// This client is a server: from now on its mounts are entries of the administrator's list only, and
// it gets the status of every template, now and whenever one changes (TemplateChanged).
struct BecomeServer {
  bool operator==(const BecomeServer&) const = default;
};
// Starts a template's zygote if it has one and it is not there; TemplateChanged tells how it goes.
struct PrepareTemplate {
  std::string name;
  bool operator==(const PrepareTemplate&) const = default;
};
// Servers only. Every session that has no client becomes this client's: one SandboxListed for each,
// then Done. SandboxRefused if it is no server.
struct ListSandboxes {
  std::uint32_t seq = 0;
  bool operator==(const ListSandboxes&) const = default;
};
// Stops every process of a session where it is, or lets them go on. Answered by Done when that is
// so, or by SandboxRefused.
struct FreezeSandbox {
  std::uint32_t seq = 0;
  SandboxId id;
  bool frozen = false;
  bool operator==(const FreezeSandbox&) const = default;
};
// Answered by SandboxMeasured or SandboxRefused.
struct MeasureSandbox {
  std::uint32_t seq = 0;
  SandboxId id;
  bool operator==(const MeasureSandbox&) const = default;
};
// Servers only. One more template, for this client alone, until it forgets it or has been gone for
// a while. What is there already under this id, of this client or of one that is gone, becomes
// this. Answered by TemplateChanged and then Done, or by SandboxRefused.
struct DefineTemplate {
  std::uint32_t seq = 0;
  TemplateDefinition definition;
  bool operator==(const DefineTemplate&) const = default;
};
// Sandboxes that were made of it live on. Answered by Done, or by SandboxRefused: this client has
// none of this id.
struct ForgetTemplate {
  std::uint32_t seq = 0;
  std::string id;
  bool operator==(const ForgetTemplate&) const = default;
};
// The sockets of a sandbox's network, for the gateway, as often as it is asked for. A session's is
// brought up first if it was prepared only. Answered by NetworkLent or SandboxRefused.
struct LendNetwork {
  std::uint32_t seq = 0;
  SandboxId id;
  bool operator==(const LendNetwork&) const = default;
};
// Servers only. What a sandbox that has ended left in its layer becomes a layer, read-only from now
// on: `record` has the id, the sizes, the digest and the note. Answered by Done or SandboxRefused.
struct KeepLayer {
  std::uint32_t seq = 0;
  LayerRecord record;
  bool operator==(const KeepLayer&) const = default;
};
// Another note for a layer that is there. Answered by Done or SandboxRefused.
struct NoteLayer {
  std::uint32_t seq = 0;
  std::string id;
  std::string note;
  bool operator==(const NoteLayer&) const = default;
};
// Removes one, also one that was begun and never kept. Answered by Done, or by SandboxRefused:
// kConflict, it is in use; kNotFound.
struct DropLayer {
  std::uint32_t seq = 0;
  std::string id;
  bool operator==(const DropLayer&) const = default;
};
// Answered by a LayerListed for each, then Done.
struct ListLayers {
  std::uint32_t seq = 0;
  bool operator==(const ListLayers&) const = default;
};
// What all sandboxes of this launcher use together. Answered by HostMeasured.
struct MeasureHost {
  std::uint32_t seq = 0;
  bool operator==(const MeasureHost&) const = default;
};
using LauncherRequest = std::variant<CreateSandbox, TakeSandbox, DestroySandbox, BecomeServer,
                                     PrepareTemplate, ListSandboxes, FreezeSandbox, MeasureSandbox,
                                     DefineTemplate, ForgetTemplate, LendNetwork, KeepLayer,
                                     NoteLayer, DropLayer, ListLayers, MeasureHost, RecycleSandbox>;

// Sent as soon as the sandbox is sealed and its agent listens.
struct SandboxCreated {
  std::uint32_t seq = 0;
  SandboxId id;
  WallSet walls;
  std::uint32_t generation = 0;  // of its template
  bool has_network = false;      // prepared, or up
  bool operator==(const SandboxCreated&) const = default;
};
// kUnavailable to a warm request: the runtime is not there yet; ask for a cold one meanwhile.
struct SandboxRefused {
  std::uint32_t seq = 0;
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
struct TemplateChanged {
  TemplateStatus status;
  bool operator==(const TemplateChanged&) const = default;
};
// A descriptor comes along: [0] the server's end of the session's socket.
struct SandboxListed {
  std::uint32_t seq = 0;
  SandboxId id;
  EngineKind engine = EngineKind::kJail;
  std::string template_name;
  Limits limits;
  WallSet walls;
  std::uint32_t generation = 0;  // of its template, when it was made
  bool frozen = false;
  bool operator==(const SandboxListed&) const = default;
};
struct SandboxMeasured {
  std::uint32_t seq = 0;
  // Nothing: no cgroup counts it.
  std::optional<std::uint64_t> cpu_us;
  std::optional<std::uint64_t> memory_bytes;  // its files included
  std::optional<std::uint64_t> peak_memory_bytes;
  std::optional<std::uint32_t> processes;
  std::uint64_t disk_bytes = 0;
  std::uint64_t disk_limit_bytes = 0;
  std::uint32_t oom_kills = 0;
  std::uint64_t socket_bytes = 0;  // of the memory: buffers of sockets
  bool operator==(const SandboxMeasured&) const = default;
};
// A limit of 0: there is none.
struct HostMeasured {
  std::uint32_t seq = 0;
  std::uint64_t memory_bytes = 0;  // without page cache
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t socket_bytes = 0;  // of the memory: buffers of sockets
  std::uint32_t pids = 0;
  std::uint32_t pids_limit = 0;
  bool operator==(const HostMeasured&) const = default;
};
// Descriptors: as OpenNetwork in gateway_messages.h takes them.
struct NetworkLent {
  std::uint32_t seq = 0;
  bool operator==(const NetworkLent&) const = default;
};
struct LayerListed {
  std::uint32_t seq = 0;
  LayerRecord record;
  bool operator==(const LayerListed&) const = default;
};
struct Done {
  std::uint32_t seq = 0;
  bool operator==(const Done&) const = default;
};
using LauncherReply =
    std::variant<SandboxCreated, SandboxRefused, SandboxEnded, TemplateChanged, SandboxListed,
                 SandboxMeasured, Done, NetworkLent, LayerListed, HostMeasured>;

std::vector<std::byte> encode(const LauncherRequest& request);
std::vector<std::byte> encode(const LauncherReply& reply);
Result<LauncherRequest> decode_launcher_request(std::span<const std::byte> bytes);
Result<LauncherReply> decode_launcher_reply(std::span<const std::byte> bytes);

}  // namespace glovebox::wire
