#include "launcher/nursery/template_nurseries.h"

#include <signal.h>

#include <algorithm>

#include "base/log.h"
#include "model/template_rules.h"
#include "sys/clone.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::seconds kImportsWithin{60};
constexpr std::chrono::seconds kLastsFor{30};
constexpr std::chrono::milliseconds kFirstRetry{100};
constexpr unsigned kMostDoublings = 10;

std::chrono::milliseconds delay(unsigned failures) {
  return kFirstRetry * (1 << std::min(failures - 1, kMostDoublings));
}

bool is_readable(int fd) {
  pollfd event{fd, POLLIN, 0};
  return fd >= 0 && ::poll(&event, 1, 0) == 1;
}

}  // namespace

void Broods::set_templates(std::vector<Template> templates) {
  std::set<std::string> names;
  for (const Template& one : templates) names.insert(one.name);
  for (auto& [name, brood] : broods_) {
    if (!names.contains(name)) remove(brood);
  }
  for (Template& one : templates) put_template(std::move(one));
}

void Broods::remove_template(const std::string& name) {
  if (const auto found = broods_.find(name); found != broods_.end()) remove(found->second);
}

void Broods::remove(Brood& brood) {
  if (brood.state == RuntimeState::kRemoved) return;
  brood.state = RuntimeState::kRemoved;
  brood.wanted = false;
  brood.changed = true;
  ++brood.generation;
  retire(brood, brood.next);
  retire(brood, brood.zygote);
}

void Broods::put_template(Template one) {
  const auto [at, is_new] = broods_.try_emplace(one.name);
  Brood& brood = at->second;
  const bool is_same = is_new || brood.description == one;
  const bool is_back = brood.state == RuntimeState::kRemoved;
  brood.description = std::move(one);
  if (is_same && !is_back) return;
  brood.state = RuntimeState::kIdle;
  brood.changed = true;
  brood.failures = 0;
  brood.retry_at = {};
  if (is_same) return;
  brood.error.clear();
  ++brood.generation;
  retire(brood, brood.next);
  retire(brood, brood.zygote);
  if (brood.wanted) (void)start(brood);
}

Broods::Brood* Broods::brood_of(const std::string& name) {
  const auto found = broods_.find(name);
  if (found == broods_.end() || found->second.state == RuntimeState::kRemoved) return nullptr;
  return &found->second;
}

const Template* Broods::find(const std::string& name) const {
  const auto found = broods_.find(name);
  if (found == broods_.end() || found->second.state == RuntimeState::kRemoved) return nullptr;
  return &found->second.description;
}

std::uint32_t Broods::generation_of(const std::string& name) const {
  const auto found = broods_.find(name);
  return found == broods_.end() ? 0 : found->second.generation;
}

std::optional<Nursery>& Broods::place_for(const std::string& name, bool warm) {
  Brood* brood = brood_of(name);
  const bool own = warm && brood != nullptr && brood->description.runtime == RuntimeKind::kPython;
  return own ? brood->nursery : plain_;
}

Nursery* Broods::find_nursery(const std::string& name, bool warm) {
  std::optional<Nursery>& nursery = place_for(name, warm);
  return nursery ? &*nursery : nullptr;
}

Result<Nursery*> Broods::nursery_for(const std::string& name, bool warm) {
  std::optional<Nursery>& nursery = place_for(name, warm);
  if (!nursery) {
    TRY(Nursery started, making_.start_nursery());
    nursery.emplace(std::move(started));
  }
  return &*nursery;
}

Zygote* Broods::find_zygote(const std::string& name, std::uint32_t uid) {
  Brood* brood = brood_of(name);
  if (brood == nullptr) return nullptr;
  brood->asked_at = Clock::now();
  if (brood->zygote && brood->zygote->uid() == uid) return &*brood->zygote;
  for (Zygote& zygote : brood->leaving) {
    if (zygote.uid() == uid) return &zygote;
  }
  return nullptr;
}

Result<Zygote> Broods::make_zygote(Brood& brood) {
  TRY_OK(making_.may_have_zygote(brood.description));
  make_room_for_zygote(brood);
  TRY(Nursery * nursery, nursery_for(brood.description.name, true));
  TRY(ZygoteUids::Held uid, uids_.take());
  return making_.start_zygote(brood.description, *nursery, std::move(uid));
}

Result<> Broods::start(Brood& brood) {
  brood.wanted = true;
  if (brood.description.runtime != RuntimeKind::kPython) {
    if (brood.state != RuntimeState::kReady) brood.changed = true;
    brood.state = RuntimeState::kReady;
    return {};
  }
  if (brood.next || Clock::now() < brood.retry_at) return {};
  auto zygote = make_zygote(brood);
  if (!zygote) {
    const bool never = zygote.error().code() == Errc::kUnsupported;
    brood.error = zygote.error().message();
    brood.retry_at = never ? Clock::time_point::max() : Clock::now() + delay(++brood.failures);
    if (!brood.zygote) brood.state = RuntimeState::kFailed;
    brood.changed = true;
    return fail(std::move(zygote.error()));
  }
  brood.next.emplace(std::move(*zygote));
  if (!brood.zygote && brood.state != RuntimeState::kFailed) brood.state = RuntimeState::kStarting;
  brood.changed = true;
  return {};
}

Result<> Broods::prepare(const std::string& name) {
  Brood* brood = brood_of(name);
  if (brood == nullptr) return fail(Errc::kNotFound, "there is no template '" + name + "'");
  brood->asked_at = Clock::now();
  if (brood->zygote) return {};
  return start(*brood);
}

Result<Zygote*> Broods::zygote_for(const std::string& name) {
  TRY_OK(prepare(name));
  Brood& brood = *brood_of(name);
  if (brood.zygote && brood.zygote->state() == Zygote::State::kReady) return &*brood.zygote;
  if (brood.state == RuntimeState::kFailed) {
    return fail(Errc::kUnavailable, "the runtime of template '" + name + "' does not start");
  }
  return fail(Errc::kUnavailable, "the runtime of template '" + name + "' is being started");
}

void Broods::joined(const std::string& name, std::uint32_t zygote_uid) {
  const auto found = broods_.find(name);
  if (found == broods_.end()) return;
  Brood& brood = found->second;
  if (brood.zygote && brood.zygote->uid() == zygote_uid && brood.zygote->pending > 0) {
    --brood.zygote->pending;
  }
  for (Zygote& zygote : brood.leaving) {
    if (zygote.uid() == zygote_uid && zygote.pending > 0) --zygote.pending;
  }
}

void Broods::gave_up_waiting(const std::string& name, std::uint32_t zygote_uid) {
  joined(name, zygote_uid);
  Brood* brood = brood_of(name);
  if (brood != nullptr && brood->zygote && brood->zygote->uid() == zygote_uid) {
    brood->zygote->is_late("the zygote is stuck");
  }
}

void Broods::suspect(const std::string& name) {
  Brood* brood = brood_of(name);
  if (brood != nullptr && brood->zygote) brood->zygote->is_late("its sandboxes are held up");
}

bool Broods::forget_dead_nurseries(int wait_ms) {
  const auto is_dead = [wait_ms](const Nursery& nursery) {
    pollfd dead{nursery.pidfd(), POLLIN, 0};
    return ::poll(&dead, 1, wait_ms) == 1;
  };
  bool any = false;
  if (plain_ && is_dead(*plain_)) {
    plain_.reset();
    any = true;
  }
  for (auto& [name, brood] : broods_) {
    if (!brood.nursery || !is_dead(*brood.nursery)) continue;
    // Its zygotes and sandboxes died with it.
    retire(brood, brood.next);
    retire(brood, brood.zygote);
    brood.leaving.clear();
    brood.nursery.reset();
    if (brood.wanted) brood.state = RuntimeState::kStarting;
    brood.changed = any = true;
  }
  return any;
}

void Broods::kill_plain_nursery() const {
  if (plain_) sys::send_signal(plain_->pidfd(), SIGKILL);
}

void Broods::renew_all() {
  for (auto& [name, brood] : broods_) {
    if (brood.state == RuntimeState::kRemoved) continue;
    ++brood.generation;
    brood.changed = true;
    brood.failures = 0;
    brood.retry_at = {};
    retire(brood, brood.next);
    if (brood.zygote) {
      // Of what was there before; requests go cold until the new one is ready.
      retire(brood, brood.zygote);
      brood.state = RuntimeState::kStarting;
    }
    // Clients' are started a few at a time: see settle().
    if (brood.wanted && !is_own_template_id(name)) (void)start(brood);
  }
}

void Broods::stop() {
  for (auto& [name, brood] : broods_) {
    brood.wanted = false;
    brood.next.reset();
    brood.zygote.reset();
    brood.leaving.clear();
    brood.nursery.reset();
  }
  plain_.reset();
}

void Broods::retire(Brood& brood, std::optional<Zygote>& zygote) {
  if (!zygote) return;
  brood.forks_before += zygote->forks();
  if (zygote->state() == Zygote::State::kReady && zygote->pending > 0) {
    brood.leaving.push_back(std::move(*zygote));
  }
  zygote.reset();
}

void Broods::add_events(std::vector<pollfd>& events) const {
  if (plain_) events.push_back({plain_->pidfd(), POLLIN, 0});
  for (const auto& [name, brood] : broods_) {
    if (brood.nursery) events.push_back({brood.nursery->pidfd(), POLLIN, 0});
    for (const std::optional<Zygote>* zygote : {&brood.zygote, &brood.next}) {
      if (*zygote) events.push_back({(*zygote)->socket(), POLLIN, 0});
    }
  }
}

void Broods::on_events() {
  (void)forget_dead_nurseries(0);
  const Clock::time_point now = Clock::now();
  for (auto& [name, brood] : broods_) look_after(brood, now);
}

void Broods::look_after(Brood& brood, Clock::time_point now) {
  // One message each and round: whoever says more has to wait for the others.
  for (std::optional<Zygote>* zygote : {&brood.zygote, &brood.next}) {
    if (*zygote && is_readable((*zygote)->socket())) (*zygote)->on_event();
  }
  for (Zygote& zygote : brood.leaving) {
    if (is_readable(zygote.socket())) zygote.on_event();
  }
  brood.leaving.remove_if([](const Zygote& zygote) {
    return zygote.pending == 0 || zygote.state() == Zygote::State::kFailed;
  });
  if (brood.next && brood.next->state() == Zygote::State::kStarting &&
      now > brood.next->started() + kImportsWithin) {
    brood.next->is_late("the preload takes longer than " + std::to_string(kImportsWithin.count()) +
                        " seconds");
  }
  settle(brood, now);
}

bool Broods::is_old(const Zygote& zygote, Clock::time_point now) const {
  const bool by_age = bounds_.max_age.count() > 0 && now > zygote.started() + bounds_.max_age;
  return by_age || (bounds_.max_forks > 0 && zygote.forks() >= bounds_.max_forks);
}

// Who forks from now on, and whether somebody has to be started.
void Broods::settle(Brood& brood, Clock::time_point now) {
  if (brood.zygote && brood.zygote->state() == Zygote::State::kFailed) {
    log::warn("a zygote is gone",
              {{"template", brood.description.name}, {"why", brood.zygote->error()}});
    // One that had been there for a while is replaced at once; one that never lasts, later and
    // later.
    const bool lasted = now > brood.zygote->started() + kLastsFor;
    brood.failures = lasted ? 0 : brood.failures + 1;
    if (!lasted) brood.retry_at = now + delay(brood.failures);
    brood.error = brood.zygote->error();
    retire(brood, brood.zygote);
    brood.state = RuntimeState::kStarting;
    brood.changed = true;
  }
  if (brood.next && brood.next->state() == Zygote::State::kReady) {
    retire(brood, brood.zygote);
    brood.zygote.emplace(std::move(*brood.next));
    brood.next.reset();
    brood.state = RuntimeState::kReady;
    brood.error.clear();
    brood.changed = true;
  } else if (brood.next && brood.next->state() == Zygote::State::kFailed) {
    brood.error = brood.next->error();
    log::warn("a zygote failed", {{"template", brood.description.name}, {"why", brood.error}});
    brood.next.reset();
    if (!brood.zygote) brood.state = RuntimeState::kFailed;
    brood.retry_at = now + delay(++brood.failures);
    brood.changed = true;
  }
  if (!brood.wanted || brood.next) return;
  if (brood.zygote && !is_old(*brood.zygote, now)) return;
  if (has_room_to_start(brood)) (void)start(brood);
}

std::optional<Broods::Clock::time_point> Broods::next_look() const {
  constexpr std::chrono::seconds kOften{1};
  for (const auto& [name, brood] : broods_) {
    if (brood.wanted || is_own_template_id(name)) return Clock::now() + kOften;
  }
  return std::nullopt;
}

TemplateStatus Broods::status_of(const Brood& brood) const {
  TemplateStatus status;
  status.description = brood.description;
  status.state = brood.state;
  status.generation = brood.generation;
  status.error = brood.error;
  status.forks = brood.forks_before;
  for (const std::optional<Zygote>* zygote : {&brood.zygote, &brood.next}) {
    if (!*zygote) continue;
    ++status.zygotes;
    status.forks += (*zygote)->forks();
  }
  return status;
}

std::optional<TemplateStatus> Broods::status(const std::string& name) const {
  const auto found = broods_.find(name);
  if (found == broods_.end()) return std::nullopt;
  return status_of(found->second);
}

std::vector<std::string> Broods::names() const {
  std::vector<std::string> all;
  for (const auto& [name, brood] : broods_) all.push_back(name);
  return all;
}

std::vector<std::string> Broods::take_changes() {
  std::vector<std::string> changed;
  for (auto& [name, brood] : broods_) {
    if (std::exchange(brood.changed, false)) changed.push_back(name);
  }
  return changed;
}

std::optional<TemplateStatus> Broods::take_change(const std::string& name) {
  const auto found = broods_.find(name);
  if (found == broods_.end()) return std::nullopt;
  found->second.changed = false;
  return status_of(found->second);
}

}  // namespace glovebox::launcher
