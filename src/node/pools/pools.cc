#include "node/pools/pools.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/log.h"
#include "node/pools/pools_waiter.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

// A launcher tells of its templates as soon as it is asked; this is how long we listen.
constexpr milliseconds kTellTime{1000};
constexpr milliseconds kPrepareAgain{5000};
constexpr milliseconds kTick{1000};
constexpr milliseconds kTickWhileSomebodyWaits{20};
constexpr std::size_t kRenewedPerTick = 2;

}  // namespace

Pools::Pools(boost::asio::io_context& io, NodeOptions options)
    : io_(io),
      options_(std::move(options)),
      budget_(options_.max_sandboxes, options_.max_memory_bytes),
      launcher_(io, *this),
      attached_at_(options_.now()),
      gone_at_(attached_at_),
      tick_timer_(io),
      quiet_timer_(io) {
  // However it is configured, the queue has room for the others.
  options_.max_queue_per_owner =
      std::min(options_.max_queue_per_owner, std::max(1u, options_.max_queue / 4));
  budget_.on_release([this] { schedule_pump(); });
  schedule_tick();
}

Pools::~Pools() {
  *gone_ = true;
  budget_.on_release({});
  stop();
}

void Pools::stop() {
  stopped_ = true;
  tick_timer_.cancel();
  quiet_timer_.cancel();
  std::vector<WaiterPtr> waiting = being_made_;
  queue_.for_each([&](const WaiterPtr& waiter) { waiting.push_back(waiter); });
  for (const WaiterPtr& waiter : waiting) {
    forget(waiter);
    answer(*waiter, fail(Errc::kUnavailable, "the server is stopping"));
  }
  for (auto& [key, pool] : pools_) pool.clear();
}

void Pools::attach_launcher(UniqueFd socket) {
  ++launchers_;
  attached_at_ = options_.now();
  create_not_before_ = {};
  no_network_until_ = {};
  launcher_.attach(std::move(socket));
  schedule_pump();
}

Task<std::unique_ptr<Sandbox>> Pools::acquire(Wish wish, std::shared_ptr<CancelFlag> cancel) {
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  if (cancel && cancel->cancelled()) co_return std::unique_ptr<Sandbox>();
  if (wish.network && !wish.session) {
    network_until_ = options_.now() + options_.prepare_networks_for;
  }
  const auto waiter = std::make_shared<Waiter>(io_, std::move(wish), options_.now());
  // Nobody is before it: at once, if it can be had. Else it takes its turn.
  if (!queue_.empty() || !serve(waiter)) {
    if (queue_.size() >= options_.max_queue ||
        queue_.size_of(waiter->wish.owner) >= options_.max_queue_per_owner) {
      co_return fail(Errc::kResourceExhausted, "too many runs are waiting: " + why_full());
    }
    enqueue(waiter);
    if (queue_.size() > 1) pump();
    schedule_tick();
  }
  if (!waiter->answer && cancel) {
    cancel->on_cancel([waiter] {
      waiter->left = true;
      waiter->signal.set();
    });
  }
  while (!waiter->answer && !waiter->left) co_await waiter->signal.wait();
  if (cancel) cancel->on_cancel({});
  if (waiter->left) {
    forget(waiter);
    co_return std::unique_ptr<Sandbox>();
  }
  co_return std::move(*waiter->answer);
}

void Pools::answer(Waiter& waiter, Result<std::unique_ptr<Sandbox>> result) {
  waiter.answer = std::move(result);
  waiter.signal.set();
}

void Pools::enqueue(const WaiterPtr& waiter) {
  waiter->queued = true;
  const auto pool = pools_.find(waiter->wish.key);
  if (pool != pools_.end() && waiter->wish.pooled && !waiter->wish.cold &&
      waiter->wish.mounts.empty()) {
    waiter->counted = true;
    ++pool->second.waiting;
  }
  queue_.push(waiter->wish.owner, waiter);
}

void Pools::uncount(Waiter& waiter) {
  waiter.queued = false;
  if (std::exchange(waiter.counted, false)) --pools_.at(waiter.wish.key).waiting;
}

void Pools::forget(const WaiterPtr& waiter) {
  if (waiter->queued) queue_.remove(waiter->wish.owner, waiter);
  uncount(*waiter);
  std::erase(being_made_, waiter);
}

void Pools::schedule_pump() {
  if (stopped_ || std::exchange(pump_scheduled_, true)) return;
  boost::asio::post(io_, [this, gone = gone_] {
    if (*gone) return;
    pump_scheduled_ = false;
    pump();
  });
}

// Those who wait first, in turns; then what the pools want.
void Pools::pump() {
  if (stopped_ || !launcher_.up()) return;
  queue_.serve([this](const WaiterPtr& waiter) {
    if (has_its_share(waiter->wish.owner) || !serve(waiter)) return false;
    uncount(*waiter);
    return true;
  });
  refill();
}

// Who has more than half of everything gets no more while somebody waits who has not.
bool Pools::has_its_share(const std::string& owner) const {
  return budget_.holds_more_than_half(owner) && queue_.any_owner([this](const std::string& other) {
    return !budget_.holds_more_than_half(other);
  });
}

bool Pools::serve(const WaiterPtr& waiter) {
  if (!launcher_.up()) return false;
  const Wish& wish = waiter->wish;
  const auto known = templates_.find(wish.key.template_name);
  const bool told = known != templates_.end() && known->second.launcher == launchers_;
  if (!told && options_.now() - attached_at_ < kTellTime) return false;
  if (!told) {
    answer(*waiter, fail(Errc::kNotFound, "there is no template '" + wish.key.template_name + "'"));
    return true;
  }
  const TemplateStatus& status = known->second.status;
  if (wish.runtime && status.description.runtime == RuntimeKind::kNone) {
    answer(*waiter, fail(Errc::kInvalidArgument, "the template '" + wish.key.template_name +
                                                     "' has nothing to run code with"));
    return true;
  }
  if (promised(wish) > budget_.max_bytes()) {
    answer(*waiter, fail(Errc::kPolicy,
                         "memory and disk of this sandbox are together more than "
                         "this server gives to all of them"));
    return true;
  }
  if (wish.network && options_.now() < no_network_until_) {
    answer(*waiter, fail(no_network()));
    return true;
  }
  const Way way = way_for(wish, known->second);
  if (way.pooled) {
    Pool* pool = pool_for(wish.key, status.description);
    if (pool != nullptr && (pool->idle(kind_of(wish)) > 0 || options_.now() >= pool->not_before)) {
      return serve_from(*pool, waiter, status);
    }
  }
  return serve_alone(waiter, way.warm);
}

bool Pools::serve_from(Pool& pool, const WaiterPtr& waiter, const TemplateStatus& status) {
  const std::uint64_t bytes = bytes_of(waiter->wish.limits);
  const std::uint64_t waits_with = options_.waiting_memory_bytes;
  const std::uint64_t more = bytes > waits_with ? bytes - waits_with : 0;
  const Pool::For what = kind_of(waiter->wish);
  pool.drop_ended();
  if (pool.idle(what) > 0) {
    if (!make_room(0, more, &pool)) return false;
    std::unique_ptr<Sandbox> sandbox = pool.take(what);
    sandbox->charge().change(bytes);
    sandbox->charge().give_to(waiter->wish.owner);
    pool.size().on_take(options_.now());
    if (!waiter->missed) ++pool.hits;
    answer(*waiter, std::move(sandbox));
    return true;
  }
  if (!std::exchange(waiter->missed, true)) {
    ++pool.misses;
    pool.size().on_miss(options_.now());
    // Its like will come: half of those that wait are made anew for them, the rest by and by.
    if (what == Pool::For::kNetwork) pool.drop_without_network((pool.idle() + 1) / 2);
  }
  while (pool.making < std::max(1u, pool.waiting) && may_create() &&
         make_room(1, std::max(bytes, waits_with), &pool)) {
    create_for_pool(pool, status);
  }
  return false;  // when it is made, whoever is first gets it
}

bool Pools::serve_alone(const WaiterPtr& waiter, bool warm) {
  const std::uint64_t bytes = promised(waiter->wish);
  if (!may_create() || !make_room(1, bytes, nullptr)) return false;
  Charge charge(budget_, bytes);
  charge.give_to(waiter->wish.owner);
  create_alone(waiter, warm, std::move(charge));
  return true;
}

Pools::Way Pools::way_for(const Wish& wish, Known& known) {
  if (wish.session) {
    (void)runtime_waits(known);  // have it started, for the contexts to come
    return {};
  }
  const Template& description = known.status.description;
  const bool has_runtime = description.runtime != RuntimeKind::kNone;
  Way way;
  if (wish.runtime && !wish.cold) {
    // Some may still wait from before its runtime was lost or is renewed.
    const auto pool = pools_.find(wish.key);
    way.warm =
        (pool != pools_.end() && pool->second.idle(kind_of(wish)) > 0) || runtime_waits(known);
  }
  way.pooled = wish.pooled && wish.mounts.empty() && description.pool_max > 0 &&
               (has_runtime ? way.warm : !wish.runtime);
  return way;
}

// Whether a sandbox with a waiting runtime can be had; sees to it that later ones can.
bool Pools::runtime_waits(Known& known) {
  const TemplateStatus& status = known.status;
  if (status.description.runtime == RuntimeKind::kNone) return false;
  if (options_.now() < known.warm_not_before) return false;
  if (status.state == RuntimeState::kReady) return true;
  if (status.state != RuntimeState::kIdle) return false;
  // A process that is started ahead needs nobody to fork it.
  if (status.description.runtime == RuntimeKind::kNode) return true;
  // The launcher may have had no room for it: then it is asked again.
  if (options_.now() >= known.prepare_not_before) {
    known.prepare_not_before = options_.now() + kPrepareAgain;
    launcher_.prepare(status.description.name);
  }
  return false;
}

std::uint64_t Pools::promised(const Wish& wish) const {
  const std::uint64_t bytes = bytes_of(wish.limits);
  return wish.session ? bytes / std::max(1u, options_.session_overcommit) : bytes;
}

Charge Pools::charge_for_adopted(const Limits& limits) {
  Wish wish;
  wish.limits = limits;
  wish.session = true;
  return Charge(budget_, promised(wish), Charge::Of::kThere);
}

// At the cost of those that only wait, if it must be.
bool Pools::make_room(std::uint32_t sandboxes, std::uint64_t bytes, const Pool* except) {
  while (!budget_.fits(sandboxes, bytes)) {
    Pool* largest = nullptr;
    for (auto& [key, pool] : pools_) {
      if (&pool == except || pool.idle() == 0) continue;
      if (largest == nullptr || pool.idle() > largest->idle()) largest = &pool;
    }
    if (largest == nullptr) return false;
    largest->drop_one();
  }
  return true;
}

std::string Pools::why_full() const {
  if (!launcher_.up()) return "the launcher is being restarted";
  if (!budget_.fits(1, 0)) return "no more sandboxes at once";
  if (!full_.empty()) return full_;
  if (creates_ >= options_.max_creates) return "the launcher is busy";
  return "all memory for sandboxes is in use";
}

void Pools::schedule_tick() {
  if (stopped_) return;
  const bool somebody = !queue_.empty() || !being_made_.empty();
  const auto at = Clock::now() + (somebody ? kTickWhileSomebodyWaits : kTick);
  if (tick_timer_.expiry() > Clock::now() && tick_timer_.expiry() <= at) return;
  tick_timer_.expires_at(at);
  tick_timer_.async_wait([this, gone = gone_](const boost::system::error_code& error) {
    if (error || *gone) return;
    tick();
    schedule_tick();
  });
}

void Pools::tick() {
  const Clock::time_point now = options_.now();
  pass_overdue(now);
  fail_overdue(now);
  if (now - attached_at_ >= kTellTime && launcher_.up()) {
    std::erase_if(templates_,
                  [&](const auto& entry) { return entry.second.launcher != launchers_; });
  }
  for (auto& [key, pool] : pools_) {
    pool.size().tick(now);
    pool.drop_ended();
    pool.drop_made_before(now - options_.renew_after, kRenewedPerTick);
    if (pool.waiting == 0) pool.drop_surplus();
    if (prepares_networks()) pool.drop_without_network(kRenewedPerTick);
  }
  pump();
}

void Pools::fail_overdue(Clock::time_point now) {
  std::vector<std::pair<WaiterPtr, Error>> overdue;
  queue_.for_each([&](const WaiterPtr& waiter) {
    if (!launcher_.up() && now - std::max(waiter->since, gone_at_) >= options_.launcher_wait) {
      overdue.emplace_back(waiter, Error(Errc::kUnavailable, "the launcher is not there"));
    } else if (now - waiter->since >= options_.queue_wait) {
      overdue.emplace_back(
          waiter, Error(Errc::kResourceExhausted, "no sandbox became free in time: " + why_full()));
    }
  });
  for (const WaiterPtr& waiter : being_made_) {
    if (now - waiter->making_since < options_.create_wait) continue;
    overdue.emplace_back(waiter, Error(Errc::kUnavailable, "the launcher does not answer"));
  }
  for (auto& [waiter, error] : overdue) {
    forget(waiter);
    answer(*waiter, fail(std::move(error)));
  }
}

void Pools::on_template(const TemplateStatus& status) {
  const std::string& name = status.description.name;
  const bool over = status.state == RuntimeState::kRemoved;
  if (on_word_of_template_) on_word_of_template_(status);
  for (auto& [key, pool] : pools_) {
    if (key.template_name != name) continue;
    const std::uint32_t most = std::min(status.description.pool_max, options_.max_waiting);
    pool.size().set_bounds(over ? 0 : std::min(status.description.pool_min, most), over ? 0 : most);
    pool.drop_older_than(status.generation);
    if (over || status.state == RuntimeState::kFailed) pool.clear();
  }
  if (over) {
    templates_.erase(name);
    return schedule_pump();
  }
  Known& known = templates_[name];
  if (known.status.generation != status.generation || status.state != RuntimeState::kIdle ||
      known.launcher != launchers_) {
    known.prepare_not_before = {};
  }
  known.status = status;
  known.launcher = launchers_;
  if (status.state == RuntimeState::kReady) known.warm_not_before = {};
  if (status.description.pool_min > 0) {
    pool_for({name, EngineKind::kJail}, status.description);
    (void)runtime_waits(known);  // have it started
  }
  schedule_pump();
}

void Pools::on_launcher_gone() {
  gone_at_ = options_.now();
  for (auto& [key, pool] : pools_) pool.clear();
  for (auto& [name, known] : templates_) {
    known.status.zygotes = 0;
    if (known.status.state == RuntimeState::kReady) known.status.state = RuntimeState::kStarting;
  }
}

const TemplateStatus* Pools::find_template(std::string_view name) const {
  const auto known = templates_.find(name);
  return known == templates_.end() ? nullptr : &known->second.status;
}

std::vector<TemplateStatus> Pools::templates() const {
  std::vector<TemplateStatus> all;
  for (const auto& [name, known] : templates_) all.push_back(known.status);
  return all;
}

NodeFigures Pools::figures() const {
  NodeFigures figures;
  for (const auto& [key, pool] : pools_) {
    figures.pools.push_back({key.template_name, key.engine, static_cast<std::uint32_t>(pool.idle()),
                             pool.making, pool.size().target(), pool.hits, pool.misses});
  }
  for (const auto& [name, known] : templates_) figures.zygotes += known.status.zygotes;
  figures.sandboxes_alive = budget_.sandboxes();
  figures.runs_active = active_;
  figures.queued = static_cast<std::uint32_t>(queue_.size() + being_made_.size());
  figures.launcher_up = launcher_.up();
  figures.launcher_losses = launcher_.losses();
  figures.memory_committed_bytes = budget_.bytes();
  return figures;
}

}  // namespace glovebox::node
