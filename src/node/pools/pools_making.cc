// The other half of Pools: which sandboxes are made, and when.
#include <fcntl.h>

#include <boost/asio/post.hpp>
#include <utility>

#include "base/fd_message.h"
#include "base/log.h"
#include "node/pools/pools.h"
#include "node/pools/pools_waiter.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet{3};            // without a run, before pools are filled up
constexpr milliseconds kAfterFull{20};       // until we ask a full launcher again
constexpr milliseconds kAfterFailure{1000};  // until a pool whose making failed tries again
constexpr milliseconds kAfterNotReady{250};  // until a runtime is asked for again, if nobody says
constexpr milliseconds kOverdue{1000};       // a runtime that waits is there in milliseconds
constexpr milliseconds kWithoutNetwork{60'000};  // until we try again to prepare one

}  // namespace

// The kernel cannot do it, or could not for want of something: it is tried again.
void Pools::note_network(const Making& making, const wire::SandboxCreated& created) {
  if (!making.network) return;
  no_network_until_ = created.has_network ? Clock::time_point{} : options_.now() + kWithoutNetwork;
}

bool Pools::prepares_networks() const {
  return options_.now() >= no_network_until_ && options_.now() < network_until_;
}

bool Pools::may_create() const {
  return !stopped_ && launcher_.up() && creates_ < options_.max_creates &&
         options_.now() >= create_not_before_;
}

Pool* Pools::pool_for(const PoolKey& key, const Template& description) {
  if (const auto at = pools_.find(key); at != pools_.end()) return &at->second;
  if (pools_.size() >= options_.max_pools) {
    // In the place of the one that nobody has asked for longest, if it is empty by now.
    auto oldest = pools_.end();
    for (auto at = pools_.begin(); at != pools_.end(); ++at) {
      const Pool& pool = at->second;
      if (pool.idle() > 0 || pool.making > 0 || pool.waiting > 0) continue;
      if (oldest == pools_.end() || pool.size().last_take() < oldest->second.size().last_take()) {
        oldest = at;
      }
    }
    if (oldest == pools_.end()) return nullptr;
    pools_.erase(oldest);
  }
  const std::uint32_t most = std::min(description.pool_max, options_.max_waiting);
  const PoolSize size(std::min(description.pool_min, most), most, options_.idle_decay,
                      options_.now());
  return &pools_.emplace(key, Pool(key, size)).first->second;
}

void Pools::run_began() {
  ++active_;
  quiet_ = false;
}

void Pools::run_ended() {
  --active_;
  if (active_ == 0) wait_for_quiet();
}

// The next request often comes at once; the launcher should be free for it.
void Pools::wait_for_quiet() {
  if (stopped_ || quiet_armed_) return;
  quiet_armed_ = true;
  quiet_timer_.expires_after(kQuiet);
  quiet_timer_.async_wait([this, gone = gone_](const boost::system::error_code& error) {
    if (error || *gone) return;
    quiet_armed_ = false;
    if (active_ > 0) return;  // whoever ends last asks again
    quiet_ = true;
    pump();
  });
}

// The emptiest first. Nothing while somebody waits: what there is to give is theirs.
void Pools::refill() {
  while (queue_.empty() && may_create() && budget_.fits(1, options_.waiting_memory_bytes)) {
    Pool* emptiest = nullptr;
    const TemplateStatus* its_template = nullptr;
    double least = 0;
    for (auto& [key, pool] : pools_) {
      const auto known = templates_.find(key.template_name);
      if (known == templates_.end() || known->second.launcher != launchers_) continue;
      const bool has_runtime = known->second.status.description.runtime != RuntimeKind::kNone;
      if (options_.now() < pool.not_before || pool.wanted(quiet_) == 0) continue;
      if (has_runtime && !runtime_waits(known->second)) continue;
      const double full =
          static_cast<double>(pool.idle() + pool.making) / std::max(1u, pool.size().target());
      if (emptiest != nullptr && full >= least) continue;
      emptiest = &pool;
      its_template = &known->second.status;
      least = full;
    }
    if (emptiest == nullptr) return;
    create_for_pool(*emptiest, *its_template);
  }
}

void Pools::create_for_pool(Pool& pool, const TemplateStatus& status) {
  const PoolKey key = pool.key();
  wire::CreateSandbox request;
  request.engine = key.engine;
  request.template_name = key.template_name;
  request.limits = status.description.limits;
  request.warm = status.description.runtime != RuntimeKind::kNone;
  request.waits = true;
  if (prepares_networks()) request.network = NetworkStage::kPrepared;
  ++creates_;
  ++pool.making;
  auto pair = seqpacket_pair();
  const auto making = std::make_shared<Making>(
      Making{pair ? std::move(pair->ours) : UniqueFd(),
             Charge(budget_, options_.waiting_memory_bytes),
             {.warm = request.warm, .waits = true, .made_at = options_.now()},
             key.template_name,
             nullptr,
             false,
             request.network != NetworkStage::kNone});
  makings_.push_back(making);
  if (!pair) {
    boost::asio::post(io_, [this, gone = gone_, key, making, error = pair.error()] {
      if (!*gone) pool_created(key, *making, fail(error));
    });
    return;
  }
  std::vector<UniqueFd> ends;
  ends.push_back(std::move(pair->theirs));
  launcher_.create(std::move(request), std::move(ends),
                   [this, gone = gone_, key, making](Result<wire::SandboxCreated> created) {
                     if (!*gone) pool_created(key, *making, std::move(created));
                   });
}

void Pools::pool_created(const PoolKey& key, Making& making, Result<wire::SandboxCreated> created) {
  made(making);
  Pool& pool = pools_.at(key);  // one with a making is not taken away
  --pool.making;
  schedule_pump();
  if (!created) return pool_refused(pool, making, created.error());
  note_network(making, *created);
  auto sandbox = std::make_unique<Sandbox>(io_, launcher_, *created, std::move(making.socket),
                                           std::move(making.charge), making.make);
  full_.clear();
  const auto took =
      std::chrono::duration_cast<std::chrono::microseconds>(options_.now() - making.make.made_at);
  pool.size().on_created(took);
  const auto known = templates_.find(key.template_name);
  // Made of something that has changed since: it goes before anybody sees it.
  if (stopped_ || known == templates_.end() ||
      known->second.status.state == RuntimeState::kFailed ||
      sandbox->generation() < known->second.status.generation) {
    return;
  }
  sandbox->on_end([this] { schedule_pump(); });
  pool.add(std::move(sandbox));
}

void Pools::pool_refused(Pool& pool, const Making& making, const Error& error) {
  if (!launcher_.up()) return;
  if (error.code() == Errc::kUnavailable && making.make.warm) {
    // Whoever waits goes cold; nobody sees an error.
    const auto known = templates_.find(pool.key().template_name);
    if (known != templates_.end()) {
      known->second.warm_not_before = options_.now() + kAfterNotReady;
    }
  } else if (error.code() == Errc::kResourceExhausted) {
    full_at_launcher(error);
  } else {
    // A run that comes now has one made for itself, and hears what is wrong.
    pool.not_before = options_.now() + kAfterFailure;
    log::warn("a waiting sandbox could not be made",
              {{"template", pool.key().template_name}, {"error", error.message()}});
  }
}

void Pools::full_at_launcher(const Error& error) {
  full_ = error.message();
  create_not_before_ = options_.now() + kAfterFull;
  if (queue_.empty() && being_made_.empty()) return;
  for (auto& [key, pool] : pools_) {
    if (pool.idle() > 0) return pool.drop_one();
  }
}

void Pools::made(const Making& making) {
  if (!making.overdue) --creates_;
  std::erase_if(makings_, [&](const auto& one) { return one.get() == &making; });
}

// A zygote that is stuck holds a making up until the launcher gives up on it. Meanwhile its
// template is cold, and whoever waits is not held up with it.
void Pools::pass_overdue(Clock::time_point now) {
  const std::vector<std::shared_ptr<Making>> under_way = makings_;
  for (const auto& making : under_way) {
    if (!making->make.warm || now - making->make.made_at < kOverdue) continue;
    const auto known = templates_.find(making->template_name);
    if (known != templates_.end()) known->second.warm_not_before = now + kAfterNotReady;
    if (std::exchange(making->overdue, true)) continue;
    --creates_;
    if (making->waiter == nullptr || making->waiter->answer || making->waiter->left) continue;
    std::erase(being_made_, making->waiter);
    enqueue(making->waiter);
  }
}

void Pools::create_alone(const WaiterPtr& waiter, bool warm, Charge charge) {
  wire::CreateSandbox request;
  request.engine = waiter->wish.key.engine;
  request.template_name = waiter->wish.key.template_name;
  request.limits = waiter->wish.limits;
  request.mounts = waiter->wish.mounts;
  request.project = waiter->wish.project;
  request.warm = warm;
  request.session = waiter->wish.session;
  request.layer = waiter->wish.layer;
  request.make_layer = waiter->wish.make_layer;
  // A session's is brought up when it is lent; it may be given one later, too.
  request.network = waiter->wish.session   ? NetworkStage::kPrepared
                    : waiter->wish.network ? NetworkStage::kUp
                                           : NetworkStage::kNone;
  ++creates_;
  waiter->making_since = options_.now();
  being_made_.push_back(waiter);
  auto pair = seqpacket_pair();
  UniqueFd copy;  // for the server after us
  if (request.session && pair) {
    copy.reset(::fcntl(pair->ours.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) pair = fail(Error::from_errno("copy a socket"));
  }
  const auto making =
      std::make_shared<Making>(Making{pair ? std::move(pair->ours) : UniqueFd(),
                                      std::move(charge),
                                      {.warm = warm, .waits = false, .made_at = options_.now()},
                                      waiter->wish.key.template_name,
                                      waiter,
                                      false,
                                      request.network != NetworkStage::kNone});
  makings_.push_back(making);
  if (!pair) {
    boost::asio::post(io_, [this, gone = gone_, waiter, making, error = pair.error()] {
      if (!*gone) alone_created(waiter, *making, fail(error));
    });
    return;
  }
  std::vector<UniqueFd> ends;
  ends.push_back(std::move(pair->theirs));
  if (copy) ends.push_back(std::move(copy));
  launcher_.create(std::move(request), std::move(ends),
                   [this, gone = gone_, waiter, making](Result<wire::SandboxCreated> created) {
                     if (!*gone) alone_created(waiter, *making, std::move(created));
                   });
}

void Pools::alone_created(const WaiterPtr& waiter, Making& making,
                          Result<wire::SandboxCreated> created) {
  made(making);
  schedule_pump();
  // One that is overdue has been replaced by another for the same waiter.
  if (!making.overdue) std::erase(being_made_, waiter);
  const bool wanted = !waiter->answer && !waiter->left && !making.overdue;
  if (created) {
    auto sandbox = std::make_unique<Sandbox>(io_, launcher_, *created, std::move(making.socket),
                                             std::move(making.charge), making.make);
    full_.clear();
    note_network(making, *created);
    if (!wanted) return;
    if (waiter->wish.network && !sandbox->has_network()) return answer(*waiter, fail(no_network()));
    sandbox->give();
    return answer(*waiter, std::move(sandbox));
  }
  if (!wanted) return;
  const Errc code = created.error().code();
  if (!launcher_.up()) return enqueue(waiter);  // the next launcher may be there in time
  if (code == Errc::kUnavailable && making.make.warm) {
    // The slot we had is still free, and the charge still ours.
    const auto known = templates_.find(waiter->wish.key.template_name);
    if (known != templates_.end()) {
      known->second.warm_not_before = options_.now() + kAfterNotReady;
    }
    return create_alone(waiter, false, std::move(making.charge));
  }
  if (code == Errc::kResourceExhausted) {
    full_at_launcher(created.error());
    return enqueue(waiter);
  }
  if (code == Errc::kUnsupported && making.network) {
    no_network_until_ = options_.now() + kWithoutNetwork;
  }
  answer(*waiter, fail(std::move(created.error())));
}

}  // namespace glovebox::node
