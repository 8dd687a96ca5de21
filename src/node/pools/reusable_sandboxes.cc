#include "node/pools/reusable_sandboxes.h"

#include <algorithm>
#include <utility>

#include "node/pools/cpu_weight.h"
#include "node/pools/tenant_number.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

// With more than two for each CPU, short calls get no faster; only calls that wait for something
// need more, and those are noticed by the time that others wait for them.
constexpr std::uint32_t kMostPerCpu = 2;
constexpr milliseconds kPatience{10};
// A rehearsal takes a millisecond of a CPU, and a runtime another one to arrive.
constexpr milliseconds kBusyInterval{5};
constexpr milliseconds kAfterCreateFailed{1000};  // until that is tried again

}  // namespace

void ReusableSandboxes::queued(const SandboxRequest& request) {
  if (!request.reuse.empty()) ++groups_[request.reuse].waiting;
}

void ReusableSandboxes::left_queue(const SandboxRequest& request) {
  if (!request.reuse.empty()) --groups_[request.reuse].waiting;
}

std::unique_ptr<Sandbox> ReusableSandboxes::take(const SandboxRequest& request,
                                                 std::uint32_t generation) {
  if (request.reuse.empty()) return nullptr;
  Group& group = groups_[request.reuse];
  while (!group.idle.empty()) {
    std::unique_ptr<Sandbox> sandbox = std::move(group.idle.back());
    group.idle.pop_back();
    if (sandbox->ended() || sandbox->lost() || sandbox->generation() < generation) continue;
    const KeptRuntime* kept = sandbox->reuse()->kept.get();
    if (kept != nullptr && !kept->is_silent()) continue;
    // It is the owner's already, and counts as such: only its memory is needed again.
    const std::uint64_t bytes = bytes_of(request.limits);
    const std::uint64_t has = sandbox->charge().bytes();
    if (bytes > has && !parts_.make_room(0, bytes - has)) return nullptr;
    sandbox->charge().change(bytes);
    sandbox->set_share(cpu_weight_of(parts_.budget.sandboxes_of(request.owner)),
                       tenant_number(request.project));
    sandbox->on_end({});
    sandbox->give();
    const Clock::time_point now = parts_.options.now();
    group.interval = now - group.last_take;
    group.last_take = now;
    return sandbox;
  }
  return nullptr;
}

Result<> ReusableSandboxes::create_for(SandboxWaiter& waiter) {
  Group& group = groups_[waiter.request.reuse];
  if (group.failure && parts_.options.now() - group.failed_at < kAfterCreateFailed) {
    return fail(*group.failure);
  }
  bool first_try = !std::exchange(waiter.missed, true);
  while (wants_another(group, waiter, first_try) && parts_.creator.may_create() &&
         parts_.may_have(waiter.request) && parts_.make_room(1, bytes_of(waiter.request.limits))) {
    create(group, waiter.request);
    first_try = false;
  }
  return {};
}

bool ReusableSandboxes::wants_another(const Group& group, const SandboxWaiter& waiter,
                                      bool first_try) const {
  const std::uint32_t cpus = parts_.options.cpus;
  // One in use, and for each CPU one that is being cleaned.
  if (first_try && *group.alive < cpus + 1) return true;
  const std::uint32_t wanted = group.waiting + (waiter.queued ? 0 : 1);
  if (group.coming >= wanted) return false;
  return *group.alive < kMostPerCpu * cpus + 1 || parts_.options.now() - waiter.since >= kPatience;
}

// Whether the next call is expected so soon that a rehearsal would come too late.
bool ReusableSandboxes::is_in_demand(const Group& group) const {
  return group.waiting > 0 || group.interval < kBusyInterval;
}

bool ReusableSandboxes::may_serve_again(const ReuseSlot& slot, Clock::time_point now) const {
  return slot.calls < parts_.options.reuse_max_calls &&
         now - slot.made_at() < parts_.options.reuse_max_age;
}

void ReusableSandboxes::create(Group& group, const SandboxRequest& request) {
  wire::CreateSandbox message = creation_of(request);
  message.warm = true;
  message.hurry = true;  // its run waits
  message.waits = true;
  message.reusable = true;
  Charge charge(parts_.budget, bytes_of(request.limits));
  charge.give_to(request.owner, parts_.budget.counted_pids(request.limits.pids));
  group.owner = request.owner;
  ++group.coming;
  parts_.creator.create(
      std::move(message), std::move(charge),
      [this, gone = gone_, key = request.reuse](SandboxCreation& creation,
                                                Result<std::unique_ptr<Sandbox>> sandbox) {
        if (!*gone) created(key, creation, std::move(sandbox));
      },
      {}, std::make_unique<ReuseSlot>(request.reuse, parts_.options.now(), group.alive));
}

void ReusableSandboxes::created(const std::string& key, SandboxCreation& creation,
                                Result<std::unique_ptr<Sandbox>> sandbox) {
  if (!sandbox && parts_.launcher.up()) {
    parts_.creator.note_refusal(creation, sandbox.error());
    if (sandbox.error().code() == Errc::kResourceExhausted) {
      listener_.on_launcher_full();
    } else if (!SandboxCreator::runtime_was_missing(creation, sandbox.error())) {
      Group& group = groups_[key];
      group.failure = sandbox.error();
      group.failed_at = parts_.options.now();
    }
  }
  cleaned(key, std::move(sandbox));
}

// It can serve a call now. If it could not be created or cleaned, it is gone.
void ReusableSandboxes::cleaned(const std::string& key, Result<std::unique_ptr<Sandbox>> sandbox) {
  Group& group = groups_[key];
  --group.coming;
  listener_.on_pool_changed();
  if (!sandbox || stopped_) return;
  Sandbox& idle = **sandbox;
  idle.on_end([this] { listener_.on_pool_changed(); });
  // An interpreter that stays may have filled all of its memory.
  if (idle.reuse()->kept == nullptr) {
    idle.charge().change(std::min(idle.charge().bytes(), parts_.options.waiting_memory_bytes));
  }
  idle.reuse()->idle_since = parts_.options.now();
  group.idle.push_back(std::move(*sandbox));
}

void ReusableSandboxes::recycle(Sandbox& sandbox) {
  ReuseSlot& slot = *sandbox.reuse();
  ++slot.calls;
  if (stopped_ || !may_serve_again(slot, parts_.options.now())) return sandbox.begin_destroy();
  const std::string key = slot.key();
  Group& group = groups_[key];
  auto done = [this, gone = gone_, key](SandboxCreation&, Result<std::unique_ptr<Sandbox>> clean) {
    if (!*gone) cleaned(key, std::move(clean));
  };
  const bool begun = slot.kept != nullptr
                         ? parts_.creator.keep(sandbox, std::move(done))
                         : parts_.creator.recycle(sandbox, is_in_demand(group), std::move(done));
  if (!begun) return sandbox.begin_destroy();
  ++group.coming;
}

void ReusableSandboxes::tick(Clock::time_point now) {
  for (auto at = groups_.begin(); at != groups_.end();) {
    Group& one = at->second;
    std::erase_if(one.idle, [&](const std::unique_ptr<Sandbox>& sandbox) {
      const ReuseSlot& slot = *sandbox->reuse();
      return sandbox->ended() || sandbox->lost() || !may_serve_again(slot, now) ||
             now - slot.idle_since >= parts_.options.reuse_idle;
    });
    const bool unused = *one.alive == 0 && one.coming == 0 && one.waiting == 0;
    at = unused ? groups_.erase(at) : std::next(at);
  }
}

void ReusableSandboxes::clear() {
  for (auto& [key, one] : groups_) one.idle.clear();
}

bool ReusableSandboxes::goes_first(const Group& one, const Group& other) const {
  const std::uint32_t has = parts_.budget.sandboxes_of(one.owner);
  const std::uint32_t other_has = parts_.budget.sandboxes_of(other.owner);
  if (has != other_has) return has > other_has;
  return one.idle.front()->reuse()->idle_since < other.idle.front()->reuse()->idle_since;
}

bool ReusableSandboxes::drop_one() {
  Group* first = nullptr;
  for (auto& [key, one] : groups_) {
    if (!one.idle.empty() && (first == nullptr || goes_first(one, *first))) first = &one;
  }
  if (first == nullptr) return false;
  first->idle.pop_front();
  return true;
}

bool ReusableSandboxes::drop_one_of(const std::string& owner) {
  Group* first = nullptr;
  for (auto& [key, one] : groups_) {
    if (one.idle.empty() || one.owner != owner) continue;
    if (first == nullptr || goes_first(one, *first)) first = &one;
  }
  if (first == nullptr) return false;
  first->idle.pop_front();
  return true;
}

}  // namespace glovebox::node
