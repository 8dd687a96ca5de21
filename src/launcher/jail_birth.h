// One jail on its way: namespaces, files, limits and the agent put together in the one order that
// works, without ever waiting for any of them. Between its steps the launcher serves others.
//
//   kAsked    the broker has been asked for an empty sandbox
//   kBorn     its first process is there and has yet to say hello
//   kPlanned  it has its mounts and puts them together
//   kDone     the walls stand; with a zygote, that has been shown the sandbox
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/broods.h"
#include "launcher/jail_mounts.h"
#include "launcher/layer_shelf.h"
#include "launcher/sandbox.h"
#include "launcher/slices.h"
#include "launcher/state_dir.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

// What a jail is made with; the launcher's own, and lives longer than any birth.
struct JailMaking {
  const Policy* policy = nullptr;
  const sys::CgroupRoots* roots = nullptr;
  const StateDir* state = nullptr;
  bool rootless = false;
  std::optional<SliceBlock>* slices = nullptr;
  std::optional<RootBuilder>* files = nullptr;
  std::optional<sys::CgroupFamily>* family = nullptr;
  Broods* broods = nullptr;
};

// A wish for a jail. `fds` are the client's socket and its mounts' sources; none for a spare.
struct JailWish {
  wire::CreateSandbox request;
  std::vector<UniqueFd> fds;
  Caller caller;
  // For whoever wished; means nothing here.
  std::uint64_t ticket = 0;
  bool hurry = false;  // others wait as well
  // Those of its template, and what it makes or looks at: they stay while it is there.
  std::vector<LayerHeld> layers{};
  std::string layer_tree{};  // the latter's, mounted at kLayerMountPoint
};

class JailBirth {
 public:
  // Asks the broker. The wish is kept, to be taken back if nothing comes of it.
  JailBirth(const JailMaking& making, JailWish wish) : making_(making), wish_(std::move(wish)) {}
  JailBirth(const JailBirth&) = delete;
  JailBirth& operator=(const JailBirth&) = delete;
  ~JailBirth();  // unless it was finished, everything of it goes

  Result<> begin();
  // What its first process begins with, while its files are being made. After begin().
  Result<> send_first() const;
  // Goes as far as it can now. True: it is done, take the sandbox.
  Result<bool> advance(Clock::time_point now);
  // What to wait for.
  int event_fd() const;
  Clock::time_point deadline() const { return deadline_; }

  // When done: taken at once, waiting, or joining.
  Sandbox take_sandbox();
  std::uint64_t ticket() const { return wish_.ticket; }
  // What a failed one leaves for another try; the birth keeps what it needs to be cleaned up.
  JailWish take_wish();
  bool was_tried_before = false;
  // Whether nothing can come of it because its nursery is not there any more.
  bool broker_is_gone() const;

 private:
  enum class Stage { kAsked, kBorn, kPlanned, kDone };
  bool is_session() const { return wish_.request.session; }
  // In the template's own nursery, where its zygote is.
  bool in_brood() const { return wish_.request.warm || session_zygote_ != 0; }
  bool waits() const { return wish_.request.waits || wish_.request.warm || wish_.fds.empty(); }
  Result<bool> on_answer();
  Result<> on_hello();
  Result<> on_sealed();
  Result<> have_it_joined(std::span<const UniqueFd> fds);
  wire::SandboxPlan plan() const;

  JailMaking making_;
  JailWish wish_;
  Stage stage_ = Stage::kAsked;
  Clock::time_point deadline_{};
  RuntimeKind runtime_ = RuntimeKind::kNone;
  std::vector<std::string> layers_;
  std::vector<std::string> environment_;
  std::uint32_t zygote_uid_ = 0;
  bool has_zygote_ = false;
  std::uint32_t session_zygote_ = 0;  // who makes a session, to be let in later; zero: nobody
  ZygoteUids::Held zygote_held_;      // of either: it owns the sandbox's user namespace
  pid_t init_pid_ = 0;
  pid_t broker_ = 0;  // of the nursery that was asked
  Nursery::Question question_ = 0;

  SandboxId id_ = SandboxId::make();
  WallSet walls_;
  std::optional<std::uint32_t> slice_;
  sys::Cgroup cgroup_;
  UniqueFd init_;
  UniqueFd setup_;
  UniqueFd upper_;
  std::optional<Sandbox::Network> network_;
  bool idmapped_ = false;
  bool finished_ = false;
};

}  // namespace glovebox::launcher
