#include "launcher/jail/jail_maker.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>

#include "base/log.h"
#include "launcher/layers/host_layer.h"
#include "launcher/jail/own_namespace.h"
#include "model/template_rules.h"
#include "sys/landlock.h"

namespace glovebox::launcher {
namespace {

// What an administrator's zygote may use while it imports, and holds for as long as it lives.
constexpr sys::CgroupLimits kZygoteBounds{
    .memory_bytes = 4ull << 30, .pids = 64, .cpu_thousandths = 4000};

sys::CgroupLimits zygote_bounds(const Template& description) {
  if (!is_own_template_id(description.name)) return kZygoteBounds;
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
      broods_({.start_nursery = [this] { return start_nursery(); },
               .may_have_zygote =
                   [this](const Template& description) { return may_have_zygote(description); },
               .start_zygote =
                   [this](const Template& description, Nursery& nursery, ZygoteUids::Held uid) {
                     return start_zygote(description, nursery, std::move(uid));
                   }},
              with_host_memory(parts_.zygotes)) {}

// What all jails of this launcher share, made when the first one is wanted.
Result<> JailMaker::prepare_place() {
  if (in_own_namespace_) return {};
  TRY_OK(enter_own_namespace(parts_.rootless));
  in_own_namespace_ = true;
  return {};
}

Result<Nursery> JailMaker::start_nursery() {
  TRY_OK(parts_.prepare_users());
  TRY_OK(prepare_place());
  NurseryUsers users;
  const std::optional<SliceBlock>& slices = *parts_.slices;
  if (slices) users = {slices->host_uid(), slices->uid_count()};
  // Without controllers of its own the v2 tree still can freeze, if nothing else does.
  const sys::CgroupRoots& roots = *parts_.roots;
  const bool v2_freezes = !roots.v2.empty() && !parts_.rootless && roots.v1_freezer.empty();
  if (!family_ && (roots.v2_controls || v2_freezes)) {
    auto family =
        sys::CgroupFamily::create(*parts_.roots, parts_.state->family_name(), users.host_uid);
    if (family) family_.emplace(std::move(*family));
  }
  return Nursery::start(*parts_.agent, users, family_ ? family_->nursery_dir() : -1, remains_);
}

// Modules and variables are code: whoever may name them has a program of his own in the zygote. A
// client's must not be able to reach further than its sandboxes.
Result<> JailMaker::may_have_zygote(const Template& description) const {
  if (!is_own_template_id(description.name)) return {};
  if (sys::landlock_abi() < sys::kLandlockScopes) {
    return fail(Errc::kUnsupported,
                "its modules are not imported ahead, and its runs start cold: for a template that "
                "was made over HTTP that takes a kernel with Landlock ABI " +
                    std::to_string(sys::kLandlockScopes) + " (Linux 6.12), and this host has not");
  }
  return {};
}

Result<Zygote> JailMaker::start_zygote(const Template& description, Nursery& nursery,
                                       ZygoteUids::Held uid) {
  TRY_OK(prepare_files());
  TRY(std::vector<LayerHeld> layers, parts_.shelf->use_trees(description.layers));
  const std::optional<SliceBlock>& slices = *parts_.slices;
  // Without slices nothing is shown through it.
  UniqueFd userns;
  if (slices) {
    TRY(userns, nursery.open_user_namespace());
  }
  sys::CgroupRoots roots = *parts_.roots;
  roots.v2_directly = false;
  roots.v1_freezer.clear();
  TRY(sys::Cgroup cgroup, sys::Cgroup::create(roots, family_ ? &*family_ : nullptr,
                                              parts_.state->cgroup_name(SandboxId::make()),
                                              zygote_bounds(description)));
  const sys::CgroupFeatures& features = cgroup.features();
  if (is_own_template_id(description.name) && (!features.memory || !features.pids)) {
    return fail(Errc::kUnsupported,
                "its modules are not imported ahead, and its runs start cold: for a template that "
                "was made over HTTP that takes cgroups for memory and processes, and this host has "
                "none for us");
  }
  Zygote::Place place{.nursery = nursery,
                      .files = *files_,
                      .owner = {.host_uid = slices ? slices->host_uid() : 0,
                                .userns = userns.get(),
                                .own_slice = slices.has_value()},
                      .uid = slices ? *uid : 0,
                      .held = std::move(uid),
                      .cgroup = std::move(cgroup),
                      .remains = remains_,
                      .layers = std::move(layers)};
  auto zygote = Zygote::start(description, std::move(place));
  if (!zygote) return fail(std::move(zygote.error()).context("start a zygote"));
  return zygote;
}

Result<> JailMaker::prepare_files() {
  if (files_) return {};
  TRY_OK(prepare_place());
  TRY(const std::string layer, ensure_host_layer(parts_.layers_dir));
  TRY(RootBuilder files, RootBuilder::open(parts_.state->path(), layer));
  files_.emplace(std::move(files));
  return {};
}

JailMaking JailMaker::making() {
  return {.policy = parts_.policy,
          .roots = parts_.roots,
          .state = parts_.state,
          .rootless = parts_.rootless,
          .slices = parts_.slices,
          .files = &files_,
          .family = &family_,
          .broods = &broods_};
}

Result<> JailMaker::renew_files() {
  drop_spare();
  if (!files_) return {};
  TRY(std::string layer, ensure_host_layer(parts_.layers_dir));
  files_->use_layer(std::move(layer));
  return {};
}

void JailMaker::begin(JailWish wish) {
  if (take_spare(wish)) return;
  start(std::move(wish), false);
}

// True: the wish was met with what was there.
bool JailMaker::take_spare(JailWish& wish) {
  const wire::CreateSandbox& request = wish.request;
  const Template* description = broods_.find(request.template_name);
  const bool plain = !request.warm && !request.session && request.mounts.empty() &&
                     request.network == NetworkStage::kNone && description != nullptr &&
                     description->layers.empty();
  if (!spare_ || !plain) return false;
  // Its broker's death is its own, a moment later: nobody is to be given what is about to die.
  const Nursery* nursery = broods_.find_nursery(request.template_name, false);
  pollfd broker{nursery != nullptr ? nursery->socket() : -1, 0, 0};
  if (nursery == nullptr || ::poll(&broker, 1, 0) != 0) {
    drop_spare();
    return false;
  }
  Sandbox sandbox = std::move(*spare_);
  spare_.reset();
  sandbox.give_link(UniqueFd(::fcntl(wish.fds[0].get(), F_DUPFD_CLOEXEC, 3)));
  if (request.waits || sandbox.take(request.limits)) {
    made_.push_back({wish.ticket, std::move(sandbox)});
    return true;
  }
  // It has died while it waited, or cannot be had so; a new one is made instead.
  spare_.emplace(std::move(sandbox));
  drop_spare();
  return false;
}

void JailMaker::start(JailWish wish, bool again) {
  JailBirth& birth = births_.emplace_back(making(), std::move(wish));
  birth.was_tried_before = again;
  Result<> begun = birth.begin();
  // The broker is at work now; what the sandbox's first process wants next is made beside it.
  if (begun) begun = prepare_files();
  if (begun) begun = birth.send_first();
  if (begun) return;
  finish(birth, fail(std::move(begun.error())));
}

void JailMaker::advance() {
  const Clock::time_point now = Clock::now();
  for (auto birth = births_.begin(); birth != births_.end();) {
    JailBirth& one = *birth++;  // finish() takes it out of the list
    Result<bool> done = one.advance(now);
    if (!done || *done) finish(one, std::move(done));
  }
}

void JailMaker::finish(JailBirth& birth, Result<bool> done) {
  const auto at = std::find_if(births_.begin(), births_.end(),
                               [&birth](const JailBirth& one) { return &one == &birth; });
  const std::uint64_t ticket = birth.ticket();
  if (done) {
    Sandbox sandbox = birth.take_sandbox();
    births_.erase(at);
    if (ticket == kSpareTicket) {
      spare_.emplace(std::move(sandbox));
    } else {
      made_.push_back({ticket, std::move(sandbox)});
    }
    return;
  }
  Error error = std::move(done.error());
  const bool again = birth.was_tried_before;
  const bool broker_died = error.code() != Errc::kPolicy && birth.broker_is_gone();
  JailWish wish = birth.take_wish();
  if (wish.request.warm && error.code() == Errc::kTimeout) {
    broods_.suspect(wish.request.template_name);
  }
  births_.erase(at);
  if (broker_died) (void)broods_.forget_dead_nurseries(0);
  if (ticket == kSpareTicket) {
    log::warn("no spare sandbox", {{"error", error.message()}});
    // A dead broker is replaced with the next request; anything else would only fail again.
    if (!broker_died) can_make_spares_ = false;
    return;
  }
  // Its broker was killed, perhaps before this request came: it gets another try with a new one.
  if (broker_died && !again) return start(std::move(wish), true);
  made_.push_back({ticket, fail(std::move(error))});
}

std::vector<JailMaker::Made> JailMaker::take_made() { return std::exchange(made_, {}); }

void JailMaker::add_events(std::vector<pollfd>& events) const {
  broods_.add_events(events);
  for (const JailBirth& birth : births_) events.push_back({birth.event_fd(), POLLIN, 0});
}

std::optional<Clock::time_point> JailMaker::next_deadline() const {
  std::optional<Clock::time_point> next;
  for (const JailBirth& birth : births_) {
    next = std::min(next.value_or(birth.deadline()), birth.deadline());
  }
  return next;
}

void JailMaker::make_spare() {
  JailWish wish;
  wish.request.limits = within_ceilings(*parts_.policy, wish.request.limits);
  wish.ticket = kSpareTicket;
  start(std::move(wish), false);
}

void JailMaker::drop_spare() {
  if (!spare_) return;
  spare_->kill(EndReason::kDestroyed);
  constexpr int kDiesWithinMs = 2000;
  pollfd dead{spare_->pidfd(), POLLIN, 0};
  ::poll(&dead, 1, kDiesWithinMs);
  (void)spare_->finish();
  (void)spare_->clean_up();
  if (spare_->slice()) (*parts_.slices)->give_back(*spare_->slice());
  spare_.reset();
}

void JailMaker::shut_down() {
  births_.clear();
  drop_spare();
  broods_.stop();
  remains_.clean_up_all();
  family_.reset();
  files_.reset();
}

}  // namespace glovebox::launcher
