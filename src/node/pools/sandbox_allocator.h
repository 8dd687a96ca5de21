// Decides which run or session gets which sandbox: one that waits in a pool, or one created for it,
// or a place in the queue while this host is full. Owners take turns (FairQueue), and an owner that
// holds more than half of everything gets no more while others wait.
//
// Owns the budget, the link to the launcher and the pools; templates (TemplateTable), creation
// (SandboxCreator) and filling of pools (PoolFiller) are parts of it. One thread, no locks. Errors
// of acquire() are those of RunService::run().
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "model/template.h"
#include "node/host/host_pressure.h"
#include "node/links/launcher_link.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/pools/fair_queue.h"
#include "node/pools/idle_pools.h"
#include "node/pools/pool_filler.h"
#include "node/pools/reusable_sandboxes.h"
#include "node/pools/sandbox_creator.h"
#include "node/pools/sandbox_request.h"
#include "node/pools/sandbox_waiter.h"
#include "node/pools/template_table.h"
#include "node/pools/wanted_pools.h"
#include "node/runs/run_service.h"

namespace glovebox::node {

class SandboxAllocator final : private LauncherLink::Listener, private PoolFiller::Listener {
 public:
  // `io` outlives this object.
  SandboxAllocator(boost::asio::io_context& io, NodeOptions options);
  ~SandboxAllocator() override;

  void attach_launcher(UniqueFd socket);
  // Every request that waits is refused, as is every later one; the pools are emptied.
  void stop();

  // A sandbox that was never used, and that no other request will get. Null when cancelled.
  Task<std::unique_ptr<Sandbox>> acquire(SandboxRequest request,
                                         std::shared_ptr<CancelFlag> cancel);
  // The call in a reusable sandbox has ended in order: it is cleaned for the next one, or destroyed
  // if it has served enough. Its run still waits for its end.
  void recycle(Sandbox& sandbox) { reusable_.recycle(sandbox); }
  // A run has its sandbox, or is done with it: pools are filled rather when there is none.
  void run_began() { filler_.run_began(); }
  void run_ended() { filler_.run_ended(); }
  // A session that exists already has its part of the budget, whether it fits or not.
  Charge charge_for_adopted(const Limits& limits);
  LauncherLink& launcher() { return launcher_; }

  // Called whenever the launcher reports a template.
  void on_template_change(std::function<void(const TemplateStatus&)> call) {
    on_template_change_ = std::move(call);
  }
  // Which sessions wait ahead of requests; replaces what `who` wanted before.
  void set_session_pools(const std::string& who, std::vector<SessionPoolRequest> wanted) {
    wanted_pools_.set_sessions(who, std::move(wanted));
    schedule_pump();
  }
  // What waits of a template that this server defined; nothing: what its base has.
  void set_template_pools(const std::string& id, TemplatePools pools) {
    wanted_pools_.set_template(id, std::move(pools));
    schedule_pump();
  }
  const TemplateStatus* find_template(std::string_view name) const { return templates_.find(name); }
  std::vector<TemplateStatus> templates() const { return templates_.all(); }
  NodeFigures figures() const;

 private:
  using Waiter = SandboxWaiter;
  using WaiterPtr = std::shared_ptr<Waiter>;
  // How a request can be met now.
  struct Way {
    bool pooled = false;
    bool warm = false;
  };

  void on_template(const TemplateStatus& status) override;
  void on_launcher_gone() override;
  void on_pool_changed() override { schedule_pump(); }
  void on_quiet() override { pump(); }
  void on_launcher_full() override;

  // Each says whether the waiter has been served, or leaves the queue.
  bool serve(const WaiterPtr& waiter);
  bool serve_from(Pool& pool, const WaiterPtr& waiter, const TemplateStatus& status);
  bool serve_alone(const WaiterPtr& waiter, bool warm);
  bool serve_session(const WaiterPtr& waiter, const TemplateStatus& status);
  // As IdlePools::make_room(), and gives up reusable sandboxes that are idle.
  bool make_room(std::uint32_t sandboxes, std::uint64_t bytes, const Pool* except) {
    while (!pools_.make_room(budget_, sandboxes, bytes, except)) {
      if (!reusable_.drop_one()) return false;
    }
    return true;
  }
  bool hand_over(Pool& pool, const WaiterPtr& waiter);
  // An error that waiting does not mend.
  Result<> check(const SandboxRequest& request, const TemplateStatus& status) const;
  Way way_for(const SandboxRequest& request, const TemplateStatus& status);
  // Runs that have a sandbox or wait for one, and the one that is being served.
  std::uint32_t runs_at_once() const {
    return filler_.active_runs() +
           static_cast<std::uint32_t>(queue_.size() + being_created_.size()) + 1;
  }
  bool has_its_share(const std::string& owner) const;
  // With this request the owner still leaves room for others.
  bool is_within_share(const SandboxRequest& request) const;
  // The same, and there are processes for it. Reusable sandboxes that are idle make room: they
  // count as their owner's as long as they are kept.
  bool may_have(const SandboxRequest& request) {
    while (!is_within_share(request)) {
      if (!reusable_.drop_one_of(request.owner)) return false;
    }
    while (!budget_.fits_pids(promised_pids(request))) {
      if (!reusable_.drop_one()) return false;
    }
    return true;
  }
  std::uint64_t promised(const SandboxRequest& request) const {
    const std::uint64_t bytes = bytes_of(request.limits);
    return request.session ? bytes / std::max(1u, options_.session_overcommit) : bytes;
  }
  std::uint32_t promised_pids(const SandboxRequest& request) const {
    return request.session ? 0 : budget_.counted_pids(request.limits.pids);
  }

  void create_alone(const WaiterPtr& waiter, bool warm, Charge charge);
  void alone_created(const WaiterPtr& waiter, SandboxCreation& creation,
                     Result<std::unique_ptr<Sandbox>> sandbox);
  void alone_overdue(const WaiterPtr& waiter);

  void answer(Waiter& waiter, Result<std::unique_ptr<Sandbox>> result);
  void enqueue(const WaiterPtr& waiter);
  void forget(const WaiterPtr& waiter);
  void uncount(Waiter& waiter);
  std::string why_full(const SandboxRequest& request) const;

  // What waits first, in turns; then the pools.
  void pump();
  void schedule_pump();
  bool may_refill() const;
  // Deadlines, shrinking, renewal.
  void tick();
  void schedule_tick();
  void fail_overdue(Clock::time_point now);
  void look_at_host(Clock::time_point now);

  boost::asio::io_context& io_;
  NodeOptions options_;
  Budget budget_;
  HostPressure pressure_;
  LauncherLink launcher_;
  TemplateTable templates_;
  IdlePools pools_;
  WantedPools wanted_pools_;
  SandboxCreator creator_;
  ReusableSandboxes reusable_;
  PoolFiller filler_;
  std::function<void(const TemplateStatus&)> on_template_change_;
  FairQueue<WaiterPtr> queue_;
  std::vector<WaiterPtr> being_created_;  // have left the queue: theirs is being created
  Clock::time_point look_at_host_at_{};
  bool is_measuring_ = false;
  Clock::time_point gone_at_;
  bool stopped_ = false;
  bool pump_scheduled_ = false;
  boost::asio::steady_timer tick_timer_;
  // Handlers that are still under way see that this object is gone.
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
