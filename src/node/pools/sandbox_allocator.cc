#include "node/pools/sandbox_allocator.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "node/links/launcher_error.h"
#include "node/pools/cpu_weight.h"
#include "node/pools/tenant_number.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kTick{1000};
constexpr milliseconds kTickWhileWaiting{20};
constexpr milliseconds kLookAtHost{500};

Error network_unsupported() {
  return Error(Errc::kUnsupported,
               "this host's kernel cannot give a sandbox a network (see `glovebox doctor`)");
}

}  // namespace

SandboxAllocator::SandboxAllocator(boost::asio::io_context& io, NodeOptions options)
    : io_(io),
      options_(std::move(options)),
      budget_(options_.max_sandboxes, options_.max_memory_bytes),
      pressure_(options_.host_sample),
      launcher_(io, *this, options_),
      templates_(launcher_, options_),
      pools_(options_),
      wanted_pools_(pools_, templates_, options_.waiting_project),
      creator_(io, launcher_, templates_, options_),
      reusable_({budget_, creator_, launcher_, options_,
                 [this](std::uint32_t sandboxes, std::uint64_t bytes) {
                   return make_room(sandboxes, bytes, nullptr);
                 },
                 [this](const SandboxRequest& request) {
                   return is_within_share(request) && budget_.fits_pids(promised_pids(request));
                 }},
                *this),
      filler_({io, budget_, launcher_, templates_, pools_, creator_, options_}, *this),
      gone_at_(options_.now()),
      tick_timer_(io) {
  // Whatever is configured, the queue has room for other owners.
  options_.max_queue_per_owner =
      std::min(options_.max_queue_per_owner, std::max(1u, options_.max_queue / 4));
  budget_.on_release([this] { schedule_pump(); });
  schedule_tick();
}

SandboxAllocator::~SandboxAllocator() {
  *gone_ = true;
  budget_.on_release({});
  stop();
}

void SandboxAllocator::stop() {
  stopped_ = true;
  tick_timer_.cancel();
  creator_.stop();
  reusable_.stop();
  filler_.stop();
  std::vector<WaiterPtr> waiting = being_created_;
  queue_.for_each([&](const WaiterPtr& waiter) { waiting.push_back(waiter); });
  for (const WaiterPtr& waiter : waiting) {
    forget(waiter);
    answer(*waiter, fail(Errc::kUnavailable, "the server is stopping"));
  }
  pools_.clear();
  reusable_.clear();
}

void SandboxAllocator::attach_launcher(UniqueFd socket) {
  templates_.launcher_attached();
  creator_.launcher_attached();
  launcher_.attach(std::move(socket));
  look_at_host_at_ = {};
  look_at_host(options_.now());
  schedule_pump();
}

Task<std::unique_ptr<Sandbox>> SandboxAllocator::acquire(SandboxRequest request,
                                                         std::shared_ptr<CancelFlag> cancel) {
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  if (cancel && cancel->cancelled()) co_return std::unique_ptr<Sandbox>();
  if (request.network && !request.session) creator_.note_network_demand();
  const auto waiter = std::make_shared<Waiter>(io_, std::move(request), options_.now());
  // With an empty queue it is served at once, if possible. Otherwise it takes its turn.
  if (!queue_.empty() || !serve(waiter)) {
    if (queue_.size() >= options_.max_queue ||
        queue_.size_of(waiter->request.owner) >= options_.max_queue_per_owner) {
      co_return fail(Errc::kResourceExhausted,
                     "too many runs are waiting: " + why_full(waiter->request));
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

void SandboxAllocator::answer(Waiter& waiter, Result<std::unique_ptr<Sandbox>> result) {
  waiter.answer = std::move(result);
  waiter.signal.set();
}

void SandboxAllocator::enqueue(const WaiterPtr& waiter) {
  waiter->queued = true;
  Pool* pool = pools_.find(waiter->request.key);
  if (pool != nullptr && waiter->request.pooled && !waiter->request.cold &&
      waiter->request.mounts.empty() && waiter->request.reuse.empty()) {
    waiter->counted = true;
    ++pool->waiting;
  }
  reusable_.queued(waiter->request);
  queue_.push(waiter->request.owner, waiter);
}

void SandboxAllocator::uncount(Waiter& waiter) {
  if (std::exchange(waiter.queued, false)) reusable_.left_queue(waiter.request);
  if (std::exchange(waiter.counted, false)) --pools_.find(waiter.request.key)->waiting;
}

void SandboxAllocator::forget(const WaiterPtr& waiter) {
  if (waiter->queued) queue_.remove(waiter->request.owner, waiter);
  uncount(*waiter);
  std::erase(being_created_, waiter);
}

bool SandboxAllocator::has_its_share(const std::string& owner) const {
  return budget_.holds_more_than_half(owner) && queue_.any_owner([this](const std::string& other) {
    return !budget_.holds_more_than_half(other);
  });
}

bool SandboxAllocator::is_within_share(const SandboxRequest& request) const {
  return budget_.is_within_share(request.owner, options_.owner_share_percent, promised(request),
                                 promised_pids(request));
}

bool SandboxAllocator::serve(const WaiterPtr& waiter) {
  if (!launcher_.up()) return false;
  const SandboxRequest& request = waiter->request;
  const std::string& name = request.key.template_name;
  if (!templates_.is_current(name)) {
    if (!templates_.is_complete()) return false;
    answer(*waiter, fail(Errc::kNotFound, "there is no template '" + name + "'"));
    return true;
  }
  const TemplateStatus& status = *templates_.find(name);
  if (const Result<> possible = check(request, status); !possible) {
    answer(*waiter, fail(possible.error()));
    return true;
  }
  if (auto idle = reusable_.take(request, status.generation)) {
    answer(*waiter, std::move(idle));
    return true;
  }
  reusable_.give_way_to(request);
  if (!pressure_.full_reason().empty() || !is_within_share(request) ||
      !budget_.fits_pids(promised_pids(request))) {
    return false;
  }
  if (request.session) return serve_session(waiter, status);
  // Without a runtime to fork, a sandbox of its own is all there is.
  if (!request.reuse.empty() && templates_.request_runtime(name)) {
    const Result<> coming = reusable_.create_for(*waiter);
    if (!coming) answer(*waiter, fail(coming.error()));
    return !coming.has_value();
  }
  const Way way = way_for(request, status);
  if (way.pooled) {
    const PoolBounds bounds{status.description.pool_min, status.description.pool_max};
    Pool* pool = pools_.find_or_add(request.key, bounds);
    if (pool != nullptr &&
        (pool->idle(pool_kind(request)) > 0 || options_.now() >= pool->not_before)) {
      return serve_from(*pool, waiter, status);
    }
  }
  return serve_alone(waiter, way.warm);
}

Result<> SandboxAllocator::check(const SandboxRequest& request,
                                 const TemplateStatus& status) const {
  if (request.runtime && status.description.runtime == RuntimeKind::kNone) {
    return fail(Errc::kInvalidArgument,
                "the template '" + request.key.template_name +
                    "' has no runtime for code: give a command, or another template");
  }
  if (promised(request) > budget_.max_bytes()) {
    return fail(Errc::kPolicy,
                "memory and disk of this sandbox exceed what this server gives to all sandboxes "
                "together");
  }
  if (request.network && !creator_.can_give_network()) return fail(network_unsupported());
  return {};
}

// Gives one that waits to the waiter, if there is room for what it may use.
bool SandboxAllocator::hand_over(Pool& pool, const WaiterPtr& waiter) {
  const SandboxRequest& request = waiter->request;
  const std::uint64_t bytes = promised(request);
  const std::uint64_t idle_bytes = options_.waiting_memory_bytes;
  const std::uint64_t more = bytes > idle_bytes ? bytes - idle_bytes : 0;
  if (!make_room(0, more, &pool)) return false;
  std::unique_ptr<Sandbox> sandbox = pool.take(pool_kind(request));
  sandbox->charge().change(bytes);
  sandbox->charge().give_to(request.owner, promised_pids(request));
  sandbox->set_share(cpu_weight_of(budget_.sandboxes_of(request.owner)),
                     tenant_number(request.project));
  pool.size().on_take(options_.now());
  if (!waiter->missed) ++pool.hits;
  answer(*waiter, std::move(sandbox));
  if (request.session) schedule_pump();  // no run's end is awaited: the next one is made now
  return true;
}

bool SandboxAllocator::serve_from(Pool& pool, const WaiterPtr& waiter,
                                  const TemplateStatus& status) {
  const Pool::For kind = pool_kind(waiter->request);
  pool.drop_ended();
  if (pool.idle(kind) > 0) return hand_over(pool, waiter);
  if (!std::exchange(waiter->missed, true)) {
    ++pool.misses;
    pool.size().on_miss(options_.now(), runs_at_once(), pool.waiting + 1);
    // More runs with a network will come: half of the idle ones are replaced at once, the others
    // over time.
    if (kind == Pool::For::kNetwork) pool.drop_without_network((pool.idle() + 1) / 2);
  }
  while (pool.making < std::max(1u, pool.waiting) && creator_.may_create() &&
         make_room(1, std::max(promised(waiter->request), options_.waiting_memory_bytes), &pool)) {
    filler_.create_for(pool, status, PoolFiller::Demand::kWaiter);
  }
  return false;  // the first in the queue gets the new one
}

bool SandboxAllocator::serve_alone(const WaiterPtr& waiter, bool warm) {
  const std::uint64_t bytes = promised(waiter->request);
  if (!creator_.may_create() || !make_room(1, bytes, nullptr)) return false;
  Charge charge(budget_, bytes);
  charge.give_to(waiter->request.owner, promised_pids(waiter->request));
  create_alone(waiter, warm, std::move(charge));
  return true;
}

// One that waits, if there is one; otherwise one is made, which takes no longer than to wait for
// the pool's next.
bool SandboxAllocator::serve_session(const WaiterPtr& waiter, const TemplateStatus& status) {
  const SandboxRequest& request = waiter->request;
  (void)templates_.request_runtime(request.key.template_name);  // for the code contexts to come
  Pool* pool = wanted_pools_.pool_for_session(request, status);
  if (pool == nullptr) return serve_alone(waiter, false);
  pool->drop_ended();
  if (pool->idle(pool_kind(request)) > 0) return hand_over(*pool, waiter);
  if (!std::exchange(waiter->missed, true)) {
    ++pool->misses;
    // Sessions last, so their number says nothing: the pool doubles.
    const std::uint32_t target = pool->size().target();
    pool->size().on_miss(options_.now(), target * 2, target);
  }
  return serve_alone(waiter, false);
}

SandboxAllocator::Way SandboxAllocator::way_for(const SandboxRequest& request,
                                                const TemplateStatus& status) {
  const std::string& name = request.key.template_name;
  const Template& description = status.description;
  const bool has_runtime = description.runtime != RuntimeKind::kNone;
  Way way;
  if (request.runtime && !request.cold) {
    // Warm sandboxes may still be idle although the runtime was lost or is being renewed.
    const Pool* pool = pools_.find(request.key);
    way.warm =
        (pool != nullptr && pool->idle(pool_kind(request)) > 0) || templates_.request_runtime(name);
  }
  way.pooled = request.pooled && request.mounts.empty() && description.pool_max > 0 &&
               (has_runtime ? way.warm : !request.runtime);
  return way;
}

Charge SandboxAllocator::charge_for_adopted(const Limits& limits) {
  SandboxRequest request;
  request.limits = limits;
  request.session = true;
  return Charge(budget_, promised(request), Charge::Of::kThere);
}

void SandboxAllocator::create_alone(const WaiterPtr& waiter, bool warm, Charge charge) {
  const SandboxRequest& wanted = waiter->request;
  wire::CreateSandbox create = creation_of(wanted);
  create.warm = warm;
  create.hurry = warm;  // its run waits
  waiter->creating_since = options_.now();
  being_created_.push_back(waiter);
  creator_.create(
      std::move(create), std::move(charge),
      [this, gone = gone_, waiter](SandboxCreation& creation,
                                   Result<std::unique_ptr<Sandbox>> sandbox) {
        if (!*gone) alone_created(waiter, creation, std::move(sandbox));
      },
      [this, waiter] { alone_overdue(waiter); });
}

void SandboxAllocator::alone_created(const WaiterPtr& waiter, SandboxCreation& creation,
                                     Result<std::unique_ptr<Sandbox>> sandbox) {
  schedule_pump();
  // One that is overdue has been replaced by another for the same waiter.
  if (!creation.overdue) std::erase(being_created_, waiter);
  if (waiter->answer || waiter->left || creation.overdue) return;
  if (sandbox) {
    if (waiter->request.network && !(*sandbox)->has_network()) {
      return answer(*waiter, fail(network_unsupported()));
    }
    (*sandbox)->give();
    return answer(*waiter, std::move(*sandbox));
  }
  const Errc code = sandbox.error().code();
  if (!launcher_.up()) return enqueue(waiter);  // the next launcher may be attached in time
  creator_.note_refusal(creation, sandbox.error());
  if (SandboxCreator::runtime_was_missing(creation, sandbox.error())) {
    // A busy host: it waits its turn for another one.
    if (templates_.request_runtime(waiter->request.key.template_name)) return enqueue(waiter);
    // The slot is still free, and the charge still ours.
    return create_alone(waiter, false, std::move(creation.charge));
  }
  if (code == Errc::kResourceExhausted) {
    on_launcher_full();
    return enqueue(waiter);
  }
  answer(*waiter, fail(std::move(sandbox.error())));
}

void SandboxAllocator::alone_overdue(const WaiterPtr& waiter) {
  if (waiter->answer || waiter->left) return;
  std::erase(being_created_, waiter);
  enqueue(waiter);
}

void SandboxAllocator::on_launcher_full() {
  if (queue_.empty() && being_created_.empty()) return;
  pools_.drop_one();
}

std::string SandboxAllocator::why_full(const SandboxRequest& request) const {
  if (!launcher_.up()) return "the launcher is being restarted";
  if (std::string reason = pressure_.full_reason(); !reason.empty()) return reason;
  if (!is_within_share(request)) {
    return "your project has its share of this host, " +
           std::to_string(options_.owner_share_percent) + "% (pools.project_share)";
  }
  if (!budget_.fits(1, 0)) return "the limit of sandboxes at once is reached";
  if (!creator_.full_reason().empty()) return creator_.full_reason();
  if (creator_.is_busy()) return "the launcher is busy";
  if (!budget_.fits_pids(budget_.counted_pids(Limits{}.pids))) {
    return "all processes for runs are in use";
  }
  return "all memory for sandboxes is in use";
}

void SandboxAllocator::schedule_pump() {
  if (stopped_ || std::exchange(pump_scheduled_, true)) return;
  boost::asio::post(io_, [this, gone = gone_] {
    if (*gone) return;
    pump_scheduled_ = false;
    pump();
  });
}

void SandboxAllocator::pump() {
  if (stopped_ || !launcher_.up()) return;
  queue_.serve([this](const WaiterPtr& waiter) {
    if (has_its_share(waiter->request.owner) || !serve(waiter)) return false;
    uncount(*waiter);
    return true;
  });
  if (may_refill()) filler_.refill();
}

bool SandboxAllocator::may_refill() const {
  if (!pressure_.full_reason().empty()) return false;
  if (queue_.empty()) return true;
  // Who waits has been given most of the host already; the pools are for the others.
  return options_.owner_share_percent < 100 && !queue_.any_owner([this](const std::string& owner) {
    return !budget_.holds_more_than_half(owner);
  });
}

void SandboxAllocator::schedule_tick() {
  if (stopped_) return;
  const bool is_waiting = !queue_.empty() || !being_created_.empty();
  const auto at = Clock::now() + (is_waiting ? kTickWhileWaiting : kTick);
  if (tick_timer_.expiry() > Clock::now() && tick_timer_.expiry() <= at) return;
  tick_timer_.expires_at(at);
  tick_timer_.async_wait([this, gone = gone_](const boost::system::error_code& error) {
    if (error || *gone) return;
    tick();
    schedule_tick();
  });
}

void SandboxAllocator::tick() {
  const Clock::time_point now = options_.now();
  look_at_host(now);
  if (!pressure_.full_reason().empty()) pools_.shrink();
  creator_.pass_overdue(now);
  fail_overdue(now);
  templates_.forget_unconfirmed();
  reusable_.tick(now);
  pools_.tick(now, creator_.prepares_networks() ? IdlePools::WithoutNetwork::kRenew
                                                : IdlePools::WithoutNetwork::kKeep);
  pump();
}

void SandboxAllocator::look_at_host(Clock::time_point now) {
  if (now < look_at_host_at_) return;
  look_at_host_at_ = now + kLookAtHost;
  pressure_.sample();
  if (!launcher_.up() || is_measuring_) return;
  is_measuring_ = true;
  launcher_.measure_host([this, gone = gone_](Result<wire::HostMeasured> measured) {
    if (*gone) return;
    is_measuring_ = false;
    if (!measured) return pressure_.launcher_lost();
    pressure_.set_launcher_measurement(*measured);
    // The other half is for sessions, whose projects the launcher bounds.
    budget_.set_max_pids(measured->pids_limit / 2);
  });
}

void SandboxAllocator::fail_overdue(Clock::time_point now) {
  std::vector<std::pair<WaiterPtr, Error>> overdue;
  queue_.for_each([&](const WaiterPtr& waiter) {
    if (!launcher_.up() && now - std::max(waiter->since, gone_at_) >= options_.launcher_wait) {
      overdue.emplace_back(waiter, launcher_error("the launcher is not running"));
    } else if (now - waiter->since >= options_.queue_wait) {
      overdue.emplace_back(waiter,
                           Error(Errc::kResourceExhausted,
                                 "no sandbox became free in time: " + why_full(waiter->request)));
    }
  });
  for (const WaiterPtr& waiter : being_created_) {
    if (now - waiter->creating_since < options_.create_wait) continue;
    overdue.emplace_back(waiter, launcher_error("the launcher does not answer"));
  }
  for (auto& [waiter, error] : overdue) {
    forget(waiter);
    answer(*waiter, fail(std::move(error)));
  }
}

void SandboxAllocator::on_template(const TemplateStatus& reported) {
  const TemplateStatus status = wanted_pools_.with_own_bounds(reported);
  if (on_template_change_) on_template_change_(status);
  templates_.update(status);
  wanted_pools_.on_template(status);
  schedule_pump();
}

void SandboxAllocator::on_launcher_gone() {
  gone_at_ = options_.now();
  pressure_.launcher_lost();
  pools_.clear();
  reusable_.clear();
  templates_.launcher_lost();
}

NodeFigures SandboxAllocator::figures() const {
  NodeFigures figures;
  figures.pools = pools_.figures();
  figures.zygotes = templates_.zygotes();
  figures.sandboxes_alive = budget_.sandboxes();
  figures.runs_active = filler_.active_runs();
  figures.queued = static_cast<std::uint32_t>(queue_.size() + being_created_.size());
  figures.launcher_up = launcher_.up();
  figures.launcher_losses = launcher_.losses();
  figures.memory_committed_bytes = budget_.bytes();
  figures.host = pressure_.figures();
  figures.jail = creator_.made();
  return figures;
}

}  // namespace glovebox::node
