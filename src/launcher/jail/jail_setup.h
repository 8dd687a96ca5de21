// Sets up one jail: namespaces, files, limits and the agent, in the one order that works, without
// waiting for any of them. Between the steps the launcher serves other requests.
//
//   kRequested  the broker has been asked for an empty sandbox
//   kStarted    its first process exists and has not sent its hello yet
//   kPlanned    it has its mounts and attaches them
//   kDone       the walls are up; a zygote, if there is one, has been told to join
//
// Owned by JailMaker. If it fails or is dropped half-way, its destructor kills the process and
// gives back what it had taken.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/jail_mounts.h"
#include "launcher/layers/layer_store.h"
#include "launcher/nursery/template_nurseries.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/sandbox/slices.h"
#include "launcher/state_dir.h"
#include "sys/cgroup_parents.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

// What every setup uses; owned by the launcher and outlives all setups.
struct JailResources {
  const Policy* policy = nullptr;
  sys::CgroupParents* parents = nullptr;
  const StateDir* state = nullptr;
  const std::optional<SandboxShares>* shares = nullptr;
  bool rootless = false;
  std::optional<UidSlices>* slices = nullptr;
  std::optional<RootBuilder>* files = nullptr;
  std::optional<sys::CgroupFamily>* family = nullptr;
  TemplateNurseries* nurseries = nullptr;
};

// `fds` are the client's socket and the sources of its mounts; none for a spare jail.
struct JailRequest {
  wire::CreateSandbox create;
  std::vector<UniqueFd> fds;
  Caller caller;
  std::uint64_t ticket = 0;  // the requester's; not used here
  // The template's layers, and the layer that the jail makes or reads: held while the jail exists.
  std::vector<LayerRef> layers{};
  std::string layer_tree{};  // of the latter; mounted at kLayerMountPoint
};

class JailSetup {
 public:
  JailSetup(const JailResources& resources, JailRequest request)
      : resources_(resources), request_(std::move(request)) {}
  JailSetup(const JailSetup&) = delete;
  JailSetup& operator=(const JailSetup&) = delete;
  ~JailSetup();

  // Asks the broker for the sandbox.
  Result<> begin();
  // Sends its first process what it starts with, and makes what needs nothing of it. After begin().
  Result<> send_basics();
  // Goes as far as it can without waiting. True: it is done, take the sandbox.
  Result<bool> advance(Clock::time_point now);
  // Readable when advance() can go on.
  int event_fd() const;
  Clock::time_point deadline() const { return deadline_; }

  // Once done. The sandbox is taken already, waits to be taken, or waits for its runtime.
  Sandbox take_sandbox();
  std::uint64_t ticket() const { return request_.ticket; }
  // The request of a failed setup, for another try; the setup keeps what its cleanup needs.
  JailRequest take_request();
  bool is_second_try = false;
  // Whether it failed because its nursery's broker has died.
  bool broker_is_gone() const;

 private:
  enum class Stage { kRequested, kStarted, kPlanned, kDone };
  bool is_session() const { return request_.create.session; }
  // In the template's own nursery, where its zygote is.
  bool in_template_nursery() const { return request_.create.warm || session_zygote_ != 0; }
  // An ordinary user's launcher cannot idmap, so a directory of the user's and a layer are written
  // as the user itself. Runs have one user anyway.
  bool may_have_slice() const {
    if (!resources_.rootless) return true;
    return is_session() && request_.create.mounts.empty() && request_.layer_tree.empty();
  }
  bool waits() const {
    return request_.create.waits || request_.create.warm || request_.fds.empty();
  }
  // `userns`: of the sandbox, or -1 while there is none.
  Owner owner_with(int userns) const;
  Result<std::vector<UniqueFd>> open_join_files() const;
  Result<bool> on_answer();
  Result<> on_hello();
  Result<> on_sealed();
  Result<> check_reusable() const;
  Result<> request_join(std::span<UniqueFd> fds);
  wire::SandboxPlan plan() const;

  JailResources resources_;
  JailRequest request_;
  Stage stage_ = Stage::kRequested;
  Clock::time_point deadline_{};
  RuntimeKind runtime_ = RuntimeKind::kNone;
  std::vector<std::string> layers_;
  std::string image_;
  std::vector<std::string> environment_;
  std::uint32_t zygote_uid_ = 0;
  bool has_zygote_ = false;
  // The zygote that owns a session's user namespace and may join it later; zero: none.
  std::uint32_t session_zygote_ = 0;
  ZygoteUids::Lease zygote_uid_lease_;  // of either: that uid owns the sandbox's user namespace
  pid_t init_pid_ = 0;
  pid_t broker_ = 0;  // of the nursery that was asked
  Nursery::Request broker_request_ = 0;

  SandboxId id_ = SandboxId::make();
  WallSet walls_;
  std::optional<std::uint32_t> slice_;
  sys::Cgroup cgroup_;
  std::vector<UniqueFd> join_files_;  // of it
  // Of a reusable sandbox: its namespaces, as its agent passed them before any guest was in it.
  std::vector<UniqueFd> namespaces_;
  bool landlock_ = false;
  UniqueFd init_;
  UniqueFd setup_;
  UniqueFd upper_;
  std::optional<Sandbox::Network> network_;
  bool idmapped_ = false;
  bool has_copies_ = false;
  bool finished_ = false;
};

}  // namespace glovebox::launcher
