#include "launcher/jail/jail_maker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "launcher/jail/own_namespace.h"
#include "launcher/layers/host_layer.h"
#include "model/template_rules.h"
#include "sys/landlock.h"

namespace glovebox::launcher {
namespace {

// What the zygote of an administrator's template may use.
constexpr sys::CgroupLimits kZygoteBounds{
    .memory_bytes = 4ull << 30, .pids = 64, .cpu_thousandths = 4000};

sys::CgroupLimits zygote_bounds(const Template& description) {
  if (!is_dynamic_template_id(description.name)) return kZygoteBounds;
  constexpr std::uint32_t kProcesses = 16;
  constexpr std::uint32_t kOneCpu = 1000;
  return {.memory_bytes = own_zygote_memory(description.limits),
          .pids = kProcesses,
          .cpu_thousandths = kOneCpu};
}

ZygoteBounds with_host_memory(ZygoteBounds bounds) {
  if (bounds.own_memory_bytes != 0) return bounds;
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && size > 0) {
    bounds.own_memory_bytes =
        static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(size) / 4;
  }
  return bounds;
}

}  // namespace

JailMaker::JailMaker(Parts parts)
    : parts_(std::move(parts)),
      tenants_removal_{parts_.parents},
      nurseries_({.start_nursery = [this] { return start_nursery(); },
                  .may_have_zygote =
                      [this](const Template& description) { return may_have_zygote(description); },
                  .start_zygote =
                      [this](const Template& description, Nursery& nursery, ZygoteUids::Lease uid) {
                        return start_zygote(description, nursery, std::move(uid));
                      }},
                 with_host_memory(parts_.zygotes)) {}

// When the first jail is made.
Result<> JailMaker::enter_namespace() {
  if (in_own_namespace_) return {};
  TRY_OK(parts_.rootless ? enter_users_namespace() : enter_own_mount_namespace());
  in_own_namespace_ = true;
  return {};
}

// An ordinary user's, who may have subordinate ids. Without them there are no slices, and the two
// programs that map them would hold up a launcher of a single run, which has no sessions.
Result<> JailMaker::enter_users_namespace() {
  if (parts_.sandboxes == Expected::kOne) return enter_own_user_namespace();
  const Policy& policy = *parts_.policy;
  const std::string leases_dir = own_leases_dir();  // inside, the user is called root
  TRY(const probe::SubordinateIds ids,
      enter_with_subordinate_ids({policy.uid_first, policy.uid_last - policy.uid_first + 1}));
  if (ids.uids.count == 0) return {};
  const SubordinateUids uids{
      .host_first = ids.uids.first, .here_first = 1, .count = ids.uids.count};
  auto file = make_leases_file(leases_dir);
  auto slices = file ? UidSlices::open_subordinate(*file, uids)
                     : Result<UidSlices>(fail(std::move(file.error())));
  if (slices) {
    parts_.slices->emplace(std::move(*slices));
  } else {
    log::warn("the user's subordinate ids are not used, so sessions have no root inside",
              {{"why", slices.error().message()}});
  }
  return {};
}

Result<Nursery> JailMaker::start_nursery() {
  TRY_OK(parts_.prepare_users());
  TRY_OK(enter_namespace());
  NurseryUsers users;
  const std::optional<UidSlices>& slices = *parts_.slices;
  if (slices) users = {slices->nursery_uid(), slices->nursery_map()};
  // Even without controllers the v2 hierarchy can freeze processes.
  const sys::CgroupRoots& roots = *parts_.roots;
  const bool v2_freezes = !roots.v2.empty() && roots.v1_freezer.empty();
  if (!family_ && (roots.v2_controls || v2_freezes)) {
    auto family =
        sys::CgroupFamily::create(*parts_.roots, parts_.state->family_name(), users.host_uid);
    if (family) {
      // Before there is anything in it: without these bounds nothing is made.
      TRY_OK(parts_.parents->add_family(family->path()));
      family_.emplace(std::move(*family));
    }
  }
  return Nursery::start(*parts_.agent, users, family_ ? family_->nursery_dir() : -1,
                        parts_.sandboxes, zygote_cleanup_);
}

// Modules and variables are code: a client that may name them runs its own program in the zygote,
// which must not reach further than that client's sandboxes.
Result<> JailMaker::may_have_zygote(const Template& description) const {
  if (!is_dynamic_template_id(description.name)) return {};
  if (sys::landlock_abi() < sys::kLandlockScopes) {
    return fail(Errc::kUnsupported,
                "its modules are not preloaded and its runs start cold: preloading for a template "
                "made over HTTP needs Landlock ABI " +
                    std::to_string(sys::kLandlockScopes) +
                    " (Linux 6.12), which this host's kernel lacks");
  }
  return {};
}

Result<Zygote> JailMaker::start_zygote(const Template& description, Nursery& nursery,
                                       ZygoteUids::Lease uid) {
  TRY_OK(prepare_files());
  std::vector<std::string> trees = description.layers;
  if (!description.root.empty()) trees.push_back(description.root);
  TRY(std::vector<LayerRef> layers, parts_.layer_store->use_trees(trees));
  // Rootless there is nothing to idmap, and slices are for sessions only.
  const std::optional<UidSlices>& slices = *parts_.slices;
  const bool own_slice = slices.has_value() && !parts_.rootless;
  UniqueFd userns;
  if (own_slice) {
    TRY(userns, nursery.open_user_namespace());
  }
  TRY(sys::CgroupRoots roots, parts_.parents->roots_for(0));
  roots.v2_directly = false;
  roots.v1_freezer.clear();
  TRY(sys::Cgroup cgroup, sys::Cgroup::create(roots, family_ ? &*family_ : nullptr,
                                              parts_.state->cgroup_name(SandboxId::make()),
                                              zygote_bounds(description)));
  const sys::CgroupFeatures& features = cgroup.features();
  if (is_dynamic_template_id(description.name) && (!features.memory || !features.pids)) {
    return fail(Errc::kUnsupported,
                "its modules are not preloaded and its runs start cold: preloading for a template "
                "made over HTTP needs memory and pids cgroups, which this host does not give to "
                "Glovebox (see `glovebox doctor`)");
  }
  Zygote::StartOptions options{.nursery = nursery,
                               .files = *files_,
                               .owner = {.host_uid = own_slice ? slices->nursery_uid() : 0,
                                         .userns = userns.get(),
                                         .own_slice = own_slice},
                               .uid = own_slice ? *uid : 0,
                               .uid_lease = std::move(uid),
                               .cgroup = std::move(cgroup),
                               .cleanup = zygote_cleanup_,
                               .layers = std::move(layers)};
  auto zygote = Zygote::start(description, std::move(options));
  if (!zygote) return fail(std::move(zygote.error()).context("start a zygote"));
  return zygote;
}

// What a jail needs after its broker has been asked for it: the first time, that takes as long as
// the broker's start.
Result<> JailMaker::prepare_files() {
  if (!shares_) shares_ = parts_.read_shares();
  if (files_) return {};
  TRY_OK(enter_namespace());
  TRY(HostLayers layers, ensure_host_layers(parts_.layers_dir));
  TRY(RootBuilder files, RootBuilder::open(parts_.state->scratch(), std::move(layers)));
  files_.emplace(std::move(files));
  return {};
}

Result<std::vector<UniqueFd>> JailMaker::build_scratch(const Sandbox& sandbox) const {
  if (!files_ || !sandbox.slice()) return fail(Errc::kInternal, "the sandbox has no files");
  const Owner owner{.host_uid = (*parts_.slices)->host_uid(*sandbox.slice()), .own_slice = true};
  return files_->build_scratch(sandbox.limits(), owner);
}

JailResources JailMaker::resources() {
  return {.policy = parts_.policy,
          .parents = parts_.parents,
          .state = parts_.state,
          .shares = &shares_,
          .rootless = parts_.rootless,
          .slices = parts_.slices,
          .files = &files_,
          .family = &family_,
          .nurseries = &nurseries_};
}

Result<> JailMaker::refresh_files() {
  drop_spare();
  if (!files_) return {};
  TRY(HostLayers layers, ensure_host_layers(parts_.layers_dir));
  files_->use_layers(std::move(layers));
  return {};
}

void JailMaker::begin(JailRequest request) {
  if (take_spare(request)) return;
  start(std::move(request), Try::kFirst);
}

// Whether the spare jail was used for this request.
bool JailMaker::take_spare(JailRequest& jail_request) {
  const wire::CreateSandbox& request = jail_request.create;
  const Template* description = nurseries_.find(request.template_name);
  const bool plain = !request.warm && !request.session && request.mounts.empty() &&
                     request.network == NetworkStage::kNone && description != nullptr &&
                     description->layers.empty() && description->root.empty();
  if (!spare_ || !plain) return false;
  // A jail dies a moment after its broker: one that is about to die is not handed out.
  const Nursery* nursery = nurseries_.find_nursery(request.template_name, false);
  pollfd broker{nursery != nullptr ? nursery->socket() : -1, 0, 0};
  if (nursery == nullptr || ::poll(&broker, 1, 0) != 0) {
    drop_spare();
    return false;
  }
  Sandbox sandbox = std::move(*spare_);
  spare_.reset();
  sandbox.give_link(UniqueFd(::fcntl(jail_request.fds[0].get(), F_DUPFD_CLOEXEC, 3)));
  if (request.waits || sandbox.take(request.limits)) {
    made_.push_back({jail_request.ticket, std::move(sandbox)});
    return true;
  }
  // It has died meanwhile, or cannot have these limits: a new one is made instead.
  spare_.emplace(std::move(sandbox));
  drop_spare();
  return false;
}

void JailMaker::start(JailRequest request, Try which) {
  JailSetup& setup = setups_.emplace_back(resources(), std::move(request));
  setup.is_second_try = which == Try::kSecond;
  Result<> begun = setup.begin();
  // While the broker works, prepare what the sandbox's first process needs next.
  if (begun) begun = prepare_files();
  if (begun) begun = setup.send_basics();
  if (begun) return;
  finish(setup, fail(std::move(begun.error())));
}

void JailMaker::advance() {
  const Clock::time_point now = Clock::now();
  for (auto setup = setups_.begin(); setup != setups_.end();) {
    JailSetup& one = *setup++;  // finish() takes it out of the list
    Result<bool> done = one.advance(now);
    if (!done || *done) finish(one, std::move(done));
  }
}

void JailMaker::finish(JailSetup& setup, Result<bool> done) {
  const auto at = std::find_if(setups_.begin(), setups_.end(),
                               [&setup](const JailSetup& one) { return &one == &setup; });
  const std::uint64_t ticket = setup.ticket();
  if (done) {
    Sandbox sandbox = setup.take_sandbox();
    setups_.erase(at);
    has_made_ = true;
    if (ticket == kSpareTicket) {
      spare_.emplace(std::move(sandbox));
    } else {
      made_.push_back({ticket, std::move(sandbox)});
    }
    return;
  }
  Error error = std::move(done.error());
  const bool is_second_try = setup.is_second_try;
  const bool broker_died = error.code() != Errc::kPolicy && setup.broker_is_gone();
  JailRequest request = setup.take_request();
  const std::string& name = request.create.template_name;
  if (request.create.warm && error.code() == Errc::kTimeout && is_dynamic_template_id(name) &&
      Clock::now() >= nurseries_.last_arrival(name) + Sandbox::kJoinTimeout) {
    nurseries_.setup_timed_out(name);
  }
  setups_.erase(at);
  if (broker_died) (void)nurseries_.remove_dead_nurseries(0);
  if (ticket == kSpareTicket) {
    log::warn("a spare sandbox could not be made", {{"error", error.message()}});
    // A dead broker is replaced with the next request; any other failure would only repeat.
    if (!broker_died) can_make_spares_ = false;
    return;
  }
  // The broker was killed, perhaps before this request came: it is tried again with a new one.
  if (broker_died && !is_second_try) return start(std::move(request), Try::kSecond);
  made_.push_back({ticket, fail(std::move(error))});
}

std::vector<JailMaker::Made> JailMaker::take_made() { return std::exchange(made_, {}); }

void JailMaker::add_events(std::vector<pollfd>& events) const {
  nurseries_.add_events(events);
  for (const JailSetup& setup : setups_) events.push_back({setup.event_fd(), POLLIN, 0});
}

std::optional<Clock::time_point> JailMaker::next_deadline() const {
  std::optional<Clock::time_point> next;
  for (const JailSetup& setup : setups_) {
    next = std::min(next.value_or(setup.deadline()), setup.deadline());
  }
  return next;
}

void JailMaker::make_spare() {
  JailRequest request;
  request.create.limits = within_ceilings(*parts_.policy, request.create.limits);
  request.ticket = kSpareTicket;
  start(std::move(request), Try::kFirst);
}

void JailMaker::drop_spare() {
  if (!spare_) return;
  spare_->kill(EndReason::kDestroyed);
  constexpr int kExitTimeoutMs = 2000;
  pollfd dead{spare_->pidfd(), POLLIN, 0};
  ::poll(&dead, 1, kExitTimeoutMs);
  (void)spare_->finish(Sandbox::Report::kNothing);
  (void)spare_->clean_up();
  if (spare_->slice()) (*parts_.slices)->give_back(*spare_->slice());
  spare_.reset();
}

void JailMaker::shut_down() {
  setups_.clear();
  drop_spare();
  nurseries_.stop();
  zygote_cleanup_.clean_up_all();
  parts_.parents->remove();
  family_.reset();
  files_.reset();
}

}  // namespace glovebox::launcher
