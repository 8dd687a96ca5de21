// Zygotes of templates that servers defined for their clients: how many there are, for how long,
// and what they may do. The administrator's are in broods.cc with the rest.
#include <algorithm>
#include <utility>

#include "base/log.h"
#include "launcher/nursery/template_nurseries.h"
#include "model/template_rules.h"

namespace glovebox::launcher {
namespace {

// One that nobody has used for so long has no zygote any more.
constexpr std::chrono::minutes kIdleFor{10};
constexpr std::size_t kMostZygotes = 128;
constexpr std::size_t kMostStarting = 8;  // of those that nobody waits for
constexpr unsigned kMostBusyLooks = 5;
// One that had too much is not started again before.
constexpr std::chrono::seconds kRestsFor{60};

}  // namespace

std::uint64_t own_zygote_memory(const Limits& limits) {
  // An interpreter with what `python` imports has 30 MB; what modules write while they are imported
  // is memory, too, and at most 64 MB.
  constexpr std::uint64_t kInterpreter = 128ull << 20;
  constexpr std::uint64_t kMost = 4ull << 30;
  return std::min(std::min(limits.memory_bytes, kMost) + kInterpreter, kMost);
}

void Broods::tidy(const std::set<std::string>& in_use) {
  const Clock::time_point now = Clock::now();
  for (auto at = broods_.begin(); at != broods_.end();) {
    const auto& [name, brood] = *at;
    const auto next = std::next(at);
    if (is_own_template_id(name)) {
      const bool used = in_use.contains(name);
      tidy_one(at->second, now, used);
      const bool is_over = brood.state == RuntimeState::kRemoved && !brood.changed &&
                           brood.leaving.empty() && !brood.nursery;
      if (is_over && !used) broods_.erase(at);
    }
    at = next;
  }
  end_the_largest();
}

void Broods::tidy_one(Brood& brood, Clock::time_point now, bool in_use) {
  const bool is_busy = brood.zygote && brood.zygote->pending > 0;
  if (brood.wanted && !is_busy && now > brood.asked_at + kIdleFor) rest(brood);
  look_at_zygote(brood, now);
  // Who is in the nursery would end with it.
  if (!brood.zygote && !brood.next && brood.leaving.empty() && !in_use) brood.nursery.reset();
}

// One that waits has nothing to do, and nobody to do it: but its modules may have taken it over. A
// child on its way out is nobody, so company has to be seen twice.
void Broods::look_at_zygote(Brood& brood, Clock::time_point now) {
  const Brood::Look before = std::exchange(brood.look, {});
  if (!brood.zygote || brood.zygote->state() != Zygote::State::kReady ||
      brood.zygote->pending > 0) {
    return;
  }
  Zygote& zygote = *brood.zygote;
  Brood::Look& look = brood.look;
  look = {now, zygote.uid(), zygote.forks(), zygote.cpu_used(), zygote.has_company(), 0};
  if (before.uid != look.uid || before.forks != look.forks || before.at == Clock::time_point{}) {
    return;
  }
  if (before.had_company && look.had_company) {
    return zygote.is_late("its modules start processes of their own");
  }
  const bool is_busy = look.cpu - before.cpu > (now - before.at) / 4;
  look.busy_looks = is_busy ? before.busy_looks + 1 : 0;
  if (look.busy_looks >= kMostBusyLooks) zygote.is_late("its modules compute while it waits");
}

// Until somebody asks again.
void Broods::rest(Brood& brood) {
  retire(brood, brood.next);
  retire(brood, brood.zygote);
  brood.wanted = false;
  // One that this host cannot have at all stays what it is, with its reason.
  const bool never = brood.retry_at == Clock::time_point::max();
  brood.state = never ? RuntimeState::kFailed : RuntimeState::kIdle;
  brood.changed = true;
}

// Clients choose how many templates they make.
void Broods::make_room_for_zygote(const Brood& wanted) {
  if (!is_own_template_id(wanted.description.name)) return;
  std::size_t count = 0;
  Brood* oldest = nullptr;
  for (auto& [name, brood] : broods_) {
    if (&brood == &wanted || !is_own_template_id(name) || (!brood.zygote && !brood.next)) continue;
    ++count;
    if (oldest == nullptr || brood.asked_at < oldest->asked_at) oldest = &brood;
  }
  if (count >= kMostZygotes) rest(*oldest);
}

// Many were started in the same minute, and would all be renewed in the same minute. Whoever is
// asked for is started at once; see prepare().
bool Broods::has_room_to_start(const Brood& wanted) const {
  if (!is_own_template_id(wanted.description.name)) return true;
  const auto starting = std::count_if(broods_.begin(), broods_.end(), [](const auto& entry) {
    return entry.second.next && is_own_template_id(entry.first);
  });
  return static_cast<std::size_t>(starting) < kMostStarting;
}

// And how much each may have; but the memory is the host's.
void Broods::end_the_largest() {
  std::uint64_t all = 0;
  std::uint64_t most = 0;
  Brood* largest = nullptr;
  for (auto& [name, brood] : broods_) {
    if (!is_own_template_id(name)) continue;
    std::uint64_t used = 0;
    for (const std::optional<Zygote>* zygote : {&brood.zygote, &brood.next}) {
      if (*zygote) used += (*zygote)->memory_used();
    }
    all += used;
    if (used > most) {
      most = used;
      largest = &brood;
    }
  }
  if (largest == nullptr || all <= bounds_.own_memory_bytes) return;
  log::warn("zygotes of projects have too much memory; the largest ends",
            {{"template", largest->description.name}, {"bytes", std::to_string(most)}});
  rest(*largest);
  largest->error = "its zygote was the largest when all of them had too much of the host's memory";
  largest->retry_at = Clock::now() + kRestsFor;
}

}  // namespace glovebox::launcher
