#include "launcher/nursery/template_nursery.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "sys/file.h"

namespace glovebox::launcher {
namespace {

constexpr std::chrono::seconds kImportTimeout{60};
// A zygote that lived this long is replaced without a delay when it dies.
constexpr std::chrono::seconds kStableAfter{30};
constexpr std::chrono::milliseconds kFirstRetry{100};
constexpr unsigned kMaxDoublings = 10;
// A zygote of a server's template that was not requested for this long is ended.
constexpr std::chrono::minutes kIdleTimeout{10};
constexpr unsigned kMaxBusySamples = 5;

std::chrono::milliseconds retry_delay(unsigned failures) {
  return kFirstRetry * (1 << std::min(failures - 1, kMaxDoublings));
}

bool has_message(const Zygote& zygote) { return sys::is_readable(zygote.socket()); }

}  // namespace

void TemplateNursery::set_description(Template description, Known known) {
  const bool is_same = known == Known::kNew || description_ == description;
  const bool is_back = is_removed();
  description_ = std::move(description);
  if (is_same && !is_back) return;
  state_ = RuntimeState::kIdle;
  changed_ = true;
  failures_ = 0;
  retry_at_ = {};
  if (is_same) return;
  error_.clear();
  ++generation_;
  retire(next_);
  retire(zygote_);
  if (requested_) (void)start();
}

void TemplateNursery::remove() {
  if (is_removed()) return;
  state_ = RuntimeState::kRemoved;
  requested_ = false;
  changed_ = true;
  ++generation_;
  retire(next_);
  retire(zygote_);
}

Result<> TemplateNursery::prepare() {
  last_requested_ = Clock::now();
  if (zygote_) return {};
  return start();
}

Result<> TemplateNursery::start() {
  requested_ = true;
  if (description_.runtime != RuntimeKind::kPython) {
    if (state_ != RuntimeState::kReady) changed_ = true;
    state_ = RuntimeState::kReady;
    return {};
  }
  if (next_ || Clock::now() < retry_at_) return {};
  auto zygote = start_zygote_(*this);
  if (!zygote) {
    const bool never = zygote.error().code() == Errc::kUnsupported;
    error_ = zygote.error().message();
    retry_at_ = never ? Clock::time_point::max() : Clock::now() + retry_delay(++failures_);
    if (!zygote_) state_ = RuntimeState::kFailed;
    changed_ = true;
    return fail(std::move(zygote.error()));
  }
  next_.emplace(std::move(*zygote));
  if (!zygote_ && state_ != RuntimeState::kFailed) state_ = RuntimeState::kStarting;
  changed_ = true;
  return {};
}

Zygote* TemplateNursery::ready_zygote() {
  return zygote_ && zygote_->state() == Zygote::State::kReady ? &*zygote_ : nullptr;
}

Zygote* TemplateNursery::find_zygote(std::uint32_t uid) {
  last_requested_ = Clock::now();
  if (zygote_ && zygote_->uid() == uid) return &*zygote_;
  for (Zygote& zygote : retiring_) {
    if (zygote.uid() == uid) return &zygote;
  }
  return nullptr;
}

void TemplateNursery::join_finished(std::uint32_t zygote_uid) {
  if (zygote_ && zygote_->uid() == zygote_uid && zygote_->pending > 0) --zygote_->pending;
  for (Zygote& zygote : retiring_) {
    if (zygote.uid() == zygote_uid && zygote.pending > 0) --zygote.pending;
  }
}

void TemplateNursery::fail_zygote(const std::string& why) {
  if (zygote_) zygote_->fail_with(why);
}

void TemplateNursery::fail_zygote(std::uint32_t uid, const std::string& why) {
  if (zygote_ && zygote_->uid() == uid) zygote_->fail_with(why);
}

void TemplateNursery::nursery_died() {
  retire(next_);
  retire(zygote_);
  retiring_.clear();
  nursery_.reset();
  if (requested_) state_ = RuntimeState::kStarting;
  changed_ = true;
}

void TemplateNursery::retire_zygotes() {
  ++generation_;
  changed_ = true;
  failures_ = 0;
  retry_at_ = {};
  retire(next_);
  if (zygote_) {
    // Until the new one is ready, runs start cold.
    retire(zygote_);
    state_ = RuntimeState::kStarting;
  }
}

void TemplateNursery::stop() {
  requested_ = false;
  next_.reset();
  zygote_.reset();
  retiring_.clear();
  nursery_.reset();
}

void TemplateNursery::retire(std::optional<Zygote>& zygote) {
  if (!zygote) return;
  forks_before_ += zygote->forks();
  if (zygote->state() == Zygote::State::kReady && zygote->pending > 0) {
    retiring_.push_back(std::move(*zygote));
  }
  zygote.reset();
}

void TemplateNursery::add_events(std::vector<pollfd>& events) const {
  if (nursery_) events.push_back({nursery_->pidfd(), POLLIN, 0});
  for (const std::optional<Zygote>* zygote : {&zygote_, &next_}) {
    if (*zygote) events.push_back({(*zygote)->socket(), POLLIN, 0});
  }
}

// At most one message of each zygote per round, so that a talkative one does not hold up the rest.
void TemplateNursery::read_messages() {
  for (std::optional<Zygote>* zygote : {&zygote_, &next_}) {
    if (*zygote && has_message(**zygote)) (*zygote)->on_event();
  }
  for (Zygote& zygote : retiring_) {
    if (has_message(zygote)) zygote.on_event();
  }
}

void TemplateNursery::on_events(Clock::time_point now) {
  read_messages();
  retiring_.remove_if([](const Zygote& zygote) {
    return zygote.pending == 0 || zygote.state() == Zygote::State::kFailed;
  });
  if (next_ && next_->state() == Zygote::State::kStarting &&
      now > next_->started() + kImportTimeout) {
    next_->fail_with("the preload takes longer than " + std::to_string(kImportTimeout.count()) +
                     " seconds");
  }
  if (zygote_ && zygote_->state() == Zygote::State::kFailed) on_zygote_failed(now);
  if (next_ && next_->state() == Zygote::State::kReady) {
    retire(zygote_);
    zygote_.emplace(std::move(*next_));
    next_.reset();
    state_ = RuntimeState::kReady;
    error_.clear();
    changed_ = true;
  } else if (next_ && next_->state() == Zygote::State::kFailed) {
    error_ = next_->error();
    log::warn("a zygote failed to start", {{"template", description_.name}, {"why", error_}});
    next_.reset();
    if (!zygote_) state_ = RuntimeState::kFailed;
    retry_at_ = now + retry_delay(++failures_);
    changed_ = true;
  }
}

// A zygote that had been stable is replaced at once; one that keeps dying, with growing delays.
void TemplateNursery::on_zygote_failed(Clock::time_point now) {
  log::warn("a zygote died", {{"template", description_.name}, {"why", zygote_->error()}});
  const bool was_stable = now > zygote_->started() + kStableAfter;
  failures_ = was_stable ? 0 : failures_ + 1;
  if (!was_stable) retry_at_ = now + retry_delay(failures_);
  error_ = zygote_->error();
  retire(zygote_);
  state_ = RuntimeState::kStarting;
  changed_ = true;
}

bool TemplateNursery::needs_zygote(const ZygoteBounds& bounds, Clock::time_point now) const {
  if (!requested_ || next_) return false;
  if (!zygote_) return true;
  const bool by_age = bounds.max_age.count() > 0 && now > zygote_->started() + bounds.max_age;
  return by_age || (bounds.max_forks > 0 && zygote_->forks() >= bounds.max_forks);
}

std::uint64_t TemplateNursery::memory_used() const {
  std::uint64_t used = 0;
  for (const std::optional<Zygote>* zygote : {&zygote_, &next_}) {
    if (*zygote) used += (*zygote)->memory_used();
  }
  return used;
}

void TemplateNursery::tidy(Clock::time_point now, bool in_use) {
  const bool is_busy = zygote_ && zygote_->pending > 0;
  if (requested_ && !is_busy && now > last_requested_ + kIdleTimeout) suspend();
  check_idle_zygote(now);
  // The sandboxes in a nursery end with it.
  if (!zygote_ && !next_ && retiring_.empty() && !in_use) nursery_.reset();
}

// A zygote that waits for work uses no CPU and has no other process in its cgroup; if it does, its
// modules have taken it over. A child that is just exiting may be seen once, so other processes
// have to be seen in two samples.
void TemplateNursery::check_idle_zygote(Clock::time_point now) {
  const Sample before = std::exchange(last_sample_, {});
  if (!zygote_ || zygote_->state() != Zygote::State::kReady || zygote_->pending > 0) return;
  Sample& sample = last_sample_;
  sample = {
      now, zygote_->uid(), zygote_->forks(), zygote_->cpu_used(), zygote_->has_other_processes(),
      0};
  if (before.uid != sample.uid || before.forks != sample.forks ||
      before.at == Clock::time_point{}) {
    return;
  }
  if (before.has_other_processes && sample.has_other_processes) {
    return zygote_->fail_with("its modules start processes of their own");
  }
  const bool is_busy = sample.cpu - before.cpu > (now - before.at) / 4;
  sample.busy_samples = is_busy ? before.busy_samples + 1 : 0;
  if (sample.busy_samples >= kMaxBusySamples) {
    zygote_->fail_with("its modules use the CPU while the zygote is idle");
  }
}

void TemplateNursery::suspend() {
  retire(next_);
  retire(zygote_);
  requested_ = false;
  // A template that this host cannot have a zygote for stays failed, with its reason.
  const bool never = retry_at_ == Clock::time_point::max();
  state_ = never ? RuntimeState::kFailed : RuntimeState::kIdle;
  changed_ = true;
}

void TemplateNursery::suspend_for(std::chrono::seconds delay, std::string why) {
  suspend();
  error_ = std::move(why);
  retry_at_ = Clock::now() + delay;
}

TemplateStatus TemplateNursery::status() const {
  TemplateStatus status;
  status.description = description_;
  status.state = state_;
  status.generation = generation_;
  status.error = error_;
  status.forks = forks_before_;
  for (const std::optional<Zygote>* zygote : {&zygote_, &next_}) {
    if (!*zygote) continue;
    ++status.zygotes;
    status.forks += (*zygote)->forks();
  }
  return status;
}

}  // namespace glovebox::launcher
