// Makes jails, several at a time, in the nurseries of their templates. A warm jail has its
// template's runtime waiting inside. Owns the nurseries and everything that jails of this launcher
// share; used on its one thread, never waits for a jail.
#pragma once

#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "launcher/jail/jail_setup.h"
#include "launcher/jail/root_builder.h"
#include "launcher/layers/layer_store.h"
#include "launcher/nursery/template_nurseries.h"
#include "launcher/policy/policy.h"
#include "launcher/sandbox/sandbox.h"
#include "launcher/sandbox/slices.h"
#include "launcher/state_dir.h"
#include "sys/cgroup_parents.h"

namespace glovebox::launcher {

class JailMaker {
 public:
  struct Parts {
    std::string layers_dir;
    bool rootless = false;
    Expected sandboxes = Expected::kMany;
    ZygoteBounds zygotes;
    std::function<SandboxShares()> read_shares;
    // The launcher's, which outlive this object.
    const Policy* policy = nullptr;
    const sys::CgroupRoots* roots = nullptr;
    sys::CgroupParents* parents = nullptr;
    const StateDir* state = nullptr;
    const UniqueFd* agent = nullptr;
    std::optional<UidSlices>* slices = nullptr;
    std::function<Result<>()> prepare_users;  // fills `agent`, and for root `slices`
    LayerStore* layer_store = nullptr;
  };
  explicit JailMaker(Parts parts);
  JailMaker(const JailMaker&) = delete;
  JailMaker& operator=(const JailMaker&) = delete;

  TemplateNurseries& nurseries() { return nurseries_; }
  const TemplateNurseries& nurseries() const { return nurseries_; }

  // For the next call in a reusable sandbox; see RootBuilder.
  Result<std::vector<UniqueFd>> build_scratch(const Sandbox& sandbox) const;

  // Begins a jail; take_made() returns it or the error, under the request's ticket.
  void begin(JailRequest request);
  // Continues with all that are under way.
  void advance();
  struct Made {
    std::uint64_t ticket = 0;
    Result<Sandbox> sandbox;  // taken, waiting to be taken, or waiting for its runtime
  };
  std::vector<Made> take_made();
  std::size_t under_way() const { return setups_.size(); }
  void add_events(std::vector<pollfd>& events) const;
  std::optional<Clock::time_point> next_deadline() const;
  PendingZygoteCleanup& zygote_cleanup() { return zygote_cleanup_; }

  // One plain jail made in advance for the next request. Only after a first request: an unused
  // launcher holds no resources.
  bool wants_spare() const {
    return nurseries_.has_plain_nursery() && !spare_ && can_make_spares_ && setups_.empty();
  }
  void make_spare();
  void drop_spare();
  // What jails are made from, once the only one that is expected is made: taking it down waits for
  // two RCU grace periods, and no client waits for the launcher while the jail runs.
  bool can_drop_files() const {
    return parts_.sandboxes == Expected::kOne && has_made_ && files_ && setups_.empty();
  }
  void drop_files() { files_.reset(); }
  // Read-only mounts that are kept for the next runs.
  void drop_idle_mounts(Clock::time_point now) {
    if (files_) files_->kept().drop_idle(now);
  }
  std::optional<Clock::time_point> next_idle_mount() const {
    return files_ ? files_->kept().next_due() : std::nullopt;
  }
  // The host's files have changed.
  Result<> refresh_files();
  void shut_down();

 private:
  static constexpr std::uint64_t kSpareTicket = ~0ull;

  Result<Nursery> start_nursery();
  Result<> may_have_zygote(const Template& description) const;
  Result<Zygote> start_zygote(const Template& description, Nursery& nursery, ZygoteUids::Lease uid);
  Result<> enter_namespace();
  Result<> enter_users_namespace();
  Result<> prepare_files();
  JailResources resources();
  bool take_spare(JailRequest& request);
  enum class Try : bool { kFirst, kSecond };
  void start(JailRequest request, Try which);
  void finish(JailSetup& setup, Result<bool> done);

  Parts parts_;
  bool in_own_namespace_ = false;
  std::optional<SandboxShares> shares_;
  std::optional<RootBuilder> files_;
  // Can be removed only after the nurseries and the tenants' cgroups in it.
  std::optional<sys::CgroupFamily> family_;
  struct TenantsRemoval {
    sys::CgroupParents* parents;
    ~TenantsRemoval() { parents->remove(); }
  };
  TenantsRemoval tenants_removal_;  // after the zygotes, before the family
  PendingZygoteCleanup zygote_cleanup_;
  TemplateNurseries nurseries_;
  std::list<JailSetup> setups_;
  std::vector<Made> made_;
  std::optional<Sandbox> spare_;
  bool has_made_ = false;
  bool can_make_spares_ = true;
};

}  // namespace glovebox::launcher
