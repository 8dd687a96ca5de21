#include "node/pools/pool_filler.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "node/pools/tenant_number.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kQuiet{3};            // without a run, before pools are filled up
constexpr milliseconds kAfterFailure{1000};  // until a pool whose creation failed tries again

}  // namespace

PoolFiller::PoolFiller(Parts parts, Listener& listener)
    : parts_(parts), listener_(listener), quiet_timer_(parts.io) {}

void PoolFiller::stop() {
  stopped_ = true;
  quiet_timer_.cancel();
}

void PoolFiller::run_began() {
  ++active_runs_;
  quiet_ = false;
}

void PoolFiller::run_ended() {
  --active_runs_;
  if (active_runs_ == 0) wait_for_quiet();
}

// The next request often comes at once; the launcher should be free for it.
void PoolFiller::wait_for_quiet() {
  if (stopped_ || quiet_armed_) return;
  quiet_armed_ = true;
  quiet_timer_.expires_after(kQuiet);
  quiet_timer_.async_wait([this, gone = gone_](const boost::system::error_code& error) {
    if (error || *gone) return;
    quiet_armed_ = false;
    if (active_runs_ > 0) return;  // the last of them arms the timer again
    quiet_ = true;
    listener_.on_quiet();
  });
}

void PoolFiller::refill() {
  while (parts_.creator.may_create() &&
         parts_.budget.fits(1, parts_.options.waiting_memory_bytes)) {
    const Candidate next = emptiest_pool();
    if (next.pool == nullptr) return;
    create_for(*next.pool, *next.status, Demand::kAhead);
  }
}

// Beyond the minimum of its pool, what waits may have a quarter of the memory for sandboxes.
bool PoolFiller::may_wait_one_more(const Pool& pool) const {
  if (pool.idle() + pool.making < pool.size().least()) return true;
  return parts_.pools.waiting_bytes() + parts_.options.waiting_memory_bytes <=
         parts_.options.max_memory_bytes / 4;
}

PoolFiller::Candidate PoolFiller::emptiest_pool() {
  Candidate emptiest;
  double least = 0;
  for (auto& [key, pool] : parts_.pools.all()) {
    if (!parts_.templates.is_current(key.template_name)) continue;
    const TemplateStatus* status = parts_.templates.find(key.template_name);
    if (parts_.options.now() < pool.not_before || pool.wanted(quiet_) == 0 ||
        !may_wait_one_more(pool)) {
      continue;
    }
    const bool has_runtime = status->description.runtime != RuntimeKind::kNone;
    if (has_runtime && !parts_.templates.request_runtime(key.template_name)) continue;
    const double full =
        static_cast<double>(pool.idle() + pool.making) / std::max(1u, pool.size().target());
    if (emptiest.pool != nullptr && full >= least) continue;
    emptiest = {&pool, status};
    least = full;
  }
  return emptiest;
}

// Whether the next sandbox of this pool is wanted soon: then its runtime does not rehearse. A quiet
// host has time for it, and so has one that fills a pool faster than runs empty it.
bool PoolFiller::is_in_demand(const Pool& pool, Demand demand) const {
  if (demand == Demand::kWaiter || pool.waiting > 0) return true;
  return !quiet_ && pool.idle() < (pool.size().target() + 1) / 2;
}

void PoolFiller::create_for(Pool& pool, const TemplateStatus& status, Demand demand) {
  const PoolKey key = pool.key();
  wire::CreateSandbox request;
  request.engine = key.engine;
  request.template_name = key.template_name;
  if (pool.session) {
    // Complete, as for a request that is there: the launcher bounds it as its project's already.
    request.session = true;
    request.limits = pool.session->limits;
    request.project = pool.session->project;
    request.tenant = tenant_number(pool.session->project);
    request.network = NetworkStage::kPrepared;
  } else {
    request.limits = status.description.limits;
    request.warm = status.description.runtime != RuntimeKind::kNone;
    request.hurry = request.warm && is_in_demand(pool, demand);
    request.waits = true;
    if (parts_.creator.prepares_networks()) request.network = NetworkStage::kPrepared;
  }
  ++pool.making;
  parts_.creator.create(std::move(request),
                        Charge(parts_.budget, parts_.options.waiting_memory_bytes),
                        [this, gone = gone_, key](SandboxCreation& creation,
                                                  Result<std::unique_ptr<Sandbox>> sandbox) {
                          if (!*gone) created(key, creation, std::move(sandbox));
                        });
}

void PoolFiller::created(const PoolKey& key, SandboxCreation& creation,
                         Result<std::unique_ptr<Sandbox>> sandbox) {
  Pool& pool = *parts_.pools.find(key);  // a pool with a creation under way is not removed
  --pool.making;
  listener_.on_pool_changed();
  if (!sandbox) return refused(pool, creation, sandbox.error());
  pool.size().on_created(std::chrono::duration_cast<std::chrono::microseconds>(
      parts_.options.now() - creation.make.made_at));
  const TemplateStatus* status = parts_.templates.find(key.template_name);
  // The template has changed since: dropped before any run gets it.
  if (stopped_ || status == nullptr || status->state == RuntimeState::kFailed ||
      (*sandbox)->generation() < status->generation) {
    return;
  }
  (*sandbox)->on_end([this] { listener_.on_pool_changed(); });
  pool.add(std::move(*sandbox));
}

void PoolFiller::refused(Pool& pool, const SandboxCreation& creation, const Error& error) {
  if (!parts_.launcher.up()) return;
  parts_.creator.note_refusal(creation, error);
  // It is tried again; without its runtime, runs get a cold sandbox and see no error.
  if (SandboxCreator::runtime_was_missing(creation, error)) return;
  if (error.code() == Errc::kResourceExhausted) return listener_.on_launcher_full();
  // A run that comes now has a sandbox created for itself, and sees what is wrong.
  pool.not_before = parts_.options.now() + kAfterFailure;
  log::warn("could not create a sandbox for a pool",
            {{"template", pool.key().template_name}, {"error", error.message()}});
}

}  // namespace glovebox::node
