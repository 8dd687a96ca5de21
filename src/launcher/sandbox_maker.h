// Makes sandboxes: checks the request against the policy, then has namespaces, files, limits and
// the agent put together in the one order that works. Fails closed: what was asked for and cannot
// be set up stops the start, with the step's name.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/nursery.h"
#include "launcher/policy.h"
#include "launcher/root_builder.h"
#include "launcher/sandbox.h"
#include "launcher/slices.h"
#include "launcher/state_dir.h"
#include "wire/launcher_messages.h"

namespace glovebox::launcher {

struct MakerConfig {
  std::string agent_path;
  std::string layers_dir;
  std::uint32_t sandboxes_at_once = 1;
  bool rootless = false;
};

// Who asks, as the kernel says.
struct Caller {
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
};

class SandboxMaker {
 public:
  SandboxMaker(MakerConfig config, Policy policy, sys::CgroupRoots roots, StateDir state);

  Result<Sandbox> make(const wire::CreateSandbox& asked, std::vector<UniqueFd> fds,
                       const Caller& caller);
  // After a sandbox has ended: its slice may be used again, last of all.
  void release(const Sandbox& sandbox);
  // Readable when the broker has died; -1 while there is none.
  int nursery_pidfd() const { return nursery_ ? nursery_->pidfd() : -1; }
  void forget_nursery() {
    spare_.reset();
    nursery_.reset();
  }
  // One sandbox with the default limits made ahead, never used before, for whoever comes next. Only
  // once there has been a first one: a launcher that nobody uses holds nothing.
  bool wants_spare() const { return nursery_ && !spare_ && can_make_spares_; }
  void make_spare();
  void drop_spare() { spare_.reset(); }
  // Of a launcher that serves one sandbox: its end is the nursery's, and both may die at once.
  void kill_nursery() const;
  // Removes everything that outlives a process. Nothing can be made after this.
  void shut_down();

 private:
  Result<> prepare_users();
  Result<> prepare_nursery();
  Result<> prepare_files();
  Result<> check(const wire::CreateSandbox& request, std::size_t fds) const;
  Result<std::vector<UniqueFd>> build_mounts(const wire::CreateSandbox& request,
                                             std::span<const UniqueFd> fds, const Caller& caller,
                                             std::uint32_t host_uid);
  Result<HostUser> mapped_user(int fd, MountMode mode, const Caller& caller) const;
  // A jail with all its walls, before it is anybody's.
  struct ReadyJail {
    ReadyJail(SandboxMaker* its_maker, SandboxId its_id, const Limits& its_limits)
        : maker(its_maker), id(std::move(its_id)), limits(its_limits) {}
    ReadyJail(ReadyJail&& other) noexcept
        : maker(std::exchange(other.maker, nullptr)),
          id(std::move(other.id)),
          limits(other.limits),
          walls(other.walls),
          slice(other.slice),
          cgroup(std::move(other.cgroup)),
          init(std::move(other.init)),
          setup(std::move(other.setup)) {}
    ReadyJail& operator=(ReadyJail&&) = delete;
    ~ReadyJail();  // kills it, unless it has become a sandbox

    SandboxMaker* maker;
    SandboxId id;
    Limits limits;
    WallSet walls;
    std::optional<std::uint32_t> slice;
    sys::Cgroup cgroup;
    UniqueFd init;
    UniqueFd setup;
  };
  Result<Sandbox> make_jail(const wire::CreateSandbox& request, std::vector<UniqueFd> fds,
                            const Caller& caller);
  // `fds` are the client's socket and its mounts' sources; none for a spare.
  Result<ReadyJail> make_ready(const wire::CreateSandbox& request, const std::vector<UniqueFd>& fds,
                               const Caller& caller);
  Result<Sandbox> to_sandbox_or_error(Result<ReadyJail> jail, const Limits& limits);
  bool nursery_has_died() const;
  Sandbox to_sandbox(ReadyJail jail, const Limits& limits);
  Result<> send_basics(int setup, const sys::Cgroup& cgroup) const;
  Result<Sandbox> make_process(const wire::CreateSandbox& request, std::vector<UniqueFd> fds,
                               SandboxId id, sys::Cgroup cgroup);

  MakerConfig config_;
  Policy policy_;
  sys::CgroupRoots roots_;
  StateDir state_;
  UniqueFd agent_;
  bool in_own_namespace_ = false;
  std::optional<SliceBlock> slices_;
  std::optional<RootBuilder> files_;
  // Removable only when the nursery, which is in it, is gone.
  std::optional<sys::CgroupFamily> family_;
  std::optional<Nursery> nursery_;
  std::optional<ReadyJail> spare_;
  bool can_make_spares_ = true;
};

}  // namespace glovebox::launcher
