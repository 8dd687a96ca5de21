#include "launcher/nursery/template_nurseries.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "model/template_rules.h"
#include "sys/clone.h"

namespace glovebox::launcher {
namespace {

// Of templates that servers defined.
constexpr std::size_t kMaxZygotes = 128;
constexpr std::size_t kMaxStarting = 8;  // without a request that waits for them
// How long a zygote that used too much memory is not started again.
constexpr std::chrono::seconds kMemoryPenalty{60};

}  // namespace

std::uint64_t own_zygote_memory(const Limits& limits) {
  // An interpreter with the imports of the template `python` uses 30 MB; what modules write while
  // they are imported is memory as well, at most 64 MB.
  constexpr std::uint64_t kInterpreter = 128ull << 20;
  constexpr std::uint64_t kMax = 4ull << 30;
  return std::min(std::min(limits.memory_bytes, kMax) + kInterpreter, kMax);
}

TemplateNurseries::TemplateNurseries(Callbacks callbacks, ZygoteBounds bounds)
    : callbacks_(std::move(callbacks)), bounds_(bounds) {}

void TemplateNurseries::set_templates(std::vector<Template> templates) {
  std::set<std::string> names;
  for (const Template& one : templates) names.insert(one.name);
  for (auto& [name, one] : all_) {
    if (!names.contains(name)) one.remove();
  }
  for (Template& one : templates) put_template(std::move(one));
}

void TemplateNurseries::put_template(Template one) {
  const auto [at, is_new] = all_.try_emplace(
      one.name, [this](TemplateNursery& nursery) { return start_zygote(nursery); });
  at->second.set_description(
      std::move(one), is_new ? TemplateNursery::Known::kNew : TemplateNursery::Known::kBefore);
}

void TemplateNurseries::remove_template(const std::string& name) {
  if (const auto found = all_.find(name); found != all_.end()) found->second.remove();
}

TemplateNursery* TemplateNurseries::find_live(const std::string& name) {
  const auto found = all_.find(name);
  return found == all_.end() || found->second.is_removed() ? nullptr : &found->second;
}

const Template* TemplateNurseries::find(const std::string& name) const {
  const auto found = all_.find(name);
  if (found == all_.end() || found->second.is_removed()) return nullptr;
  return &found->second.description();
}

std::uint32_t TemplateNurseries::generation_of(const std::string& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? 0 : found->second.generation();
}

std::optional<Nursery>& TemplateNurseries::nursery_slot(const std::string& name, bool warm) {
  TemplateNursery* one = find_live(name);
  const bool own = warm && one != nullptr && one->description().runtime == RuntimeKind::kPython;
  return own ? one->nursery() : plain_;
}

Nursery* TemplateNurseries::find_nursery(const std::string& name, bool warm) {
  std::optional<Nursery>& nursery = nursery_slot(name, warm);
  return nursery ? &*nursery : nullptr;
}

Result<Nursery*> TemplateNurseries::nursery_for(const std::string& name, bool warm) {
  std::optional<Nursery>& nursery = nursery_slot(name, warm);
  if (!nursery) {
    TRY(Nursery started, callbacks_.start_nursery());
    nursery.emplace(std::move(started));
  }
  return &*nursery;
}

Zygote* TemplateNurseries::find_zygote(const std::string& name, std::uint32_t uid) {
  TemplateNursery* one = find_live(name);
  return one != nullptr ? one->find_zygote(uid) : nullptr;
}

Result<Zygote> TemplateNurseries::start_zygote(TemplateNursery& one) {
  const Template& description = one.description();
  TRY_OK(callbacks_.may_have_zygote(description));
  make_room_for_zygote(one);
  TRY(Nursery * nursery, nursery_for(description.name, true));
  TRY(ZygoteUids::Lease uid, uids_.take());
  return callbacks_.start_zygote(description, *nursery, std::move(uid));
}

Result<> TemplateNurseries::prepare(const std::string& name) {
  TemplateNursery* one = find_live(name);
  if (one == nullptr) return fail(Errc::kNotFound, "there is no template '" + name + "'");
  return one->prepare();
}

Result<Zygote*> TemplateNurseries::zygote_for(const std::string& name) {
  TRY_OK(prepare(name));
  TemplateNursery& one = *find_live(name);
  if (Zygote* zygote = one.ready_zygote()) return zygote;
  if (one.state() == RuntimeState::kFailed) {
    return fail(Errc::kUnavailable, "the runtime of template '" + name + "' does not start");
  }
  return fail(Errc::kUnavailable, "the runtime of template '" + name + "' is being started");
}

void TemplateNurseries::join_finished(const std::string& name, std::uint32_t zygote_uid) {
  const auto found = all_.find(name);
  if (found != all_.end()) found->second.join_finished(zygote_uid);
}

void TemplateNurseries::runtime_arrived(const std::string& name) {
  if (TemplateNursery* one = find_live(name)) one->runtime_arrived();
}

TemplateNurseries::Clock::time_point TemplateNurseries::last_arrival(
    const std::string& name) const {
  const auto found = all_.find(name);
  return found == all_.end() ? Clock::time_point{} : found->second.last_arrival();
}

void TemplateNurseries::join_timed_out(const std::string& name, std::uint32_t zygote_uid) {
  join_finished(name, zygote_uid);
  if (TemplateNursery* one = find_live(name)) one->fail_zygote(zygote_uid, "the zygote is stuck");
}

void TemplateNurseries::setup_timed_out(const std::string& name) {
  if (TemplateNursery* one = find_live(name)) one->fail_zygote("it holds up its sandboxes");
}

bool TemplateNurseries::remove_dead_nurseries(int wait_ms) {
  const auto is_dead = [wait_ms](const Nursery& nursery) {
    pollfd dead{nursery.pidfd(), POLLIN, 0};
    return ::poll(&dead, 1, wait_ms) == 1;
  };
  bool any = false;
  if (plain_ && is_dead(*plain_)) {
    plain_.reset();
    any = true;
  }
  for (auto& [name, one] : all_) {
    if (!one.nursery() || !is_dead(*one.nursery())) continue;
    one.nursery_died();
    any = true;
  }
  return any;
}

void TemplateNurseries::kill_plain_nursery() const {
  if (plain_) sys::send_signal(plain_->pidfd(), SIGKILL);
}

void TemplateNurseries::replace_all_zygotes() {
  for (auto& [name, one] : all_) {
    if (one.is_removed()) continue;
    one.retire_zygotes();
    // Those of servers' templates are started a few at a time by on_events().
    if (one.is_requested() && !is_dynamic_template_id(name)) (void)one.start();
  }
}

void TemplateNurseries::stop() {
  for (auto& [name, one] : all_) one.stop();
  plain_.reset();
}

void TemplateNurseries::add_events(std::vector<pollfd>& events) const {
  if (plain_) events.push_back({plain_->pidfd(), POLLIN, 0});
  for (const auto& [name, one] : all_) one.add_events(events);
}

void TemplateNurseries::on_events() {
  (void)remove_dead_nurseries(0);
  const Clock::time_point now = Clock::now();
  for (auto& [name, one] : all_) {
    one.on_events(now);
    if (one.needs_zygote(bounds_, now) && may_start_another(one)) (void)one.start();
  }
}

std::optional<TemplateNurseries::Clock::time_point> TemplateNurseries::next_check() const {
  constexpr std::chrono::seconds kInterval{1};
  for (const auto& [name, one] : all_) {
    if (one.is_requested() || is_dynamic_template_id(name)) return Clock::now() + kInterval;
  }
  return std::nullopt;
}

void TemplateNurseries::tidy(const std::set<std::string>& in_use) {
  const Clock::time_point now = Clock::now();
  for (auto at = all_.begin(); at != all_.end();) {
    const auto next = std::next(at);
    if (is_dynamic_template_id(at->first)) {
      const bool used = in_use.contains(at->first);
      at->second.tidy(now, used);
      if (at->second.is_gone() && !used) all_.erase(at);
    }
    at = next;
  }
  suspend_largest_if_over_memory();
}

// Clients choose how many templates they define, so the number of their zygotes has a bound: the
// one that was requested longest ago gives way.
void TemplateNurseries::make_room_for_zygote(const TemplateNursery& wanted) {
  if (!is_dynamic_template_id(wanted.description().name)) return;
  std::size_t count = 0;
  TemplateNursery* oldest = nullptr;
  for (auto& [name, one] : all_) {
    if (&one == &wanted || !is_dynamic_template_id(name) || !one.has_zygote()) continue;
    ++count;
    if (oldest == nullptr || one.last_requested() < oldest->last_requested()) oldest = &one;
  }
  if (count >= kMaxZygotes) oldest->suspend();
}

// Many zygotes that were started in the same minute would all be replaced in the same minute, so
// replacements are bounded. One that a client requests is started at once: see prepare().
bool TemplateNurseries::may_start_another(const TemplateNursery& one) const {
  if (!is_dynamic_template_id(one.description().name)) return true;
  const auto starting = std::count_if(all_.begin(), all_.end(), [](const auto& entry) {
    return entry.second.is_starting_zygote() && is_dynamic_template_id(entry.first);
  });
  return static_cast<std::size_t>(starting) < kMaxStarting;
}

void TemplateNurseries::suspend_largest_if_over_memory() {
  std::uint64_t total = 0;
  std::uint64_t most = 0;
  TemplateNursery* largest = nullptr;
  for (auto& [name, one] : all_) {
    if (!is_dynamic_template_id(name)) continue;
    const std::uint64_t used = one.memory_used();
    total += used;
    if (used > most) {
      most = used;
      largest = &one;
    }
  }
  if (largest == nullptr || total <= bounds_.own_memory_bytes) return;
  log::warn("zygotes of projects use too much memory; the largest one is ended",
            {{"template", largest->description().name}, {"bytes", std::to_string(most)}});
  largest->suspend_for(kMemoryPenalty,
                       "its zygote was the largest when all zygotes of projects together used too "
                       "much of the host's memory");
}

std::optional<TemplateStatus> TemplateNurseries::status(const std::string& name) const {
  const auto found = all_.find(name);
  if (found == all_.end()) return std::nullopt;
  return found->second.status();
}

std::vector<std::string> TemplateNurseries::names() const {
  std::vector<std::string> names;
  for (const auto& [name, one] : all_) names.push_back(name);
  return names;
}

std::vector<std::string> TemplateNurseries::take_changes() {
  std::vector<std::string> changed;
  for (auto& [name, one] : all_) {
    if (one.take_changed()) changed.push_back(name);
  }
  return changed;
}

std::optional<TemplateStatus> TemplateNurseries::take_change(const std::string& name) {
  const auto found = all_.find(name);
  if (found == all_.end()) return std::nullopt;
  (void)found->second.take_changed();
  return found->second.status();
}

}  // namespace glovebox::launcher
