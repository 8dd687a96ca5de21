// Who gets which sandbox: pools of waiting ones, sandboxes made for one run, the queue when this
// host is full, and the order in which all of it is made. One thread, no locks.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "model/template.h"
#include "node/async/wake_signal.h"
#include "node/links/launcher_link.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/pools/fair_queue.h"
#include "node/pools/pool.h"
#include "node/runs/run_service.h"

namespace glovebox::node {

struct Wish {
  PoolKey key;
  Limits limits;
  std::vector<wire::MountRequest> mounts;
  bool runtime = false;  // code for the template's runtime, not a program
  bool cold = false;     // not one that has a runtime waiting in it
  bool pooled = true;    // false: one made for this run alone
  bool session = false;  // made for a session: not one that waited
  bool network = false;  // it is to reach something
  std::string owner;
  std::string project;
  std::string layer{};  // of a session: as in wire::CreateSandbox
  bool make_layer = false;
};

class Pools final : private LauncherLink::Listener {
 public:
  Pools(boost::asio::io_context& io, NodeOptions options);
  ~Pools() override;

  void attach_launcher(UniqueFd socket);
  // Nobody is given anything any more, and nothing waits any more.
  void stop();

  // A sandbox that was never used and never will be by anybody else. Null when cancelled.
  Task<std::unique_ptr<Sandbox>> acquire(Wish wish, std::shared_ptr<CancelFlag> cancel);
  // A run has its sandbox, or is done with it: pools are filled rather when there is none.
  void run_began();
  void run_ended();
  // A session that is there already has its part of the budget, whether it fits or not.
  Charge charge_for_adopted(const Limits& limits);
  LauncherLink& launcher() { return launcher_; }

  // What time does: deadlines, shrinking, renewal. Calls itself; tests call it too.
  void tick();

  // Called with every word of the launcher about a template.
  void on_word_of_template(std::function<void(const TemplateStatus&)> call) {
    on_word_of_template_ = std::move(call);
  }
  const TemplateStatus* find_template(std::string_view name) const;
  std::vector<TemplateStatus> templates() const;
  NodeFigures figures() const;

 private:
  struct Waiter;
  using WaiterPtr = std::shared_ptr<Waiter>;
  struct Known {
    TemplateStatus status;
    std::uint64_t launcher = 0;              // which launcher said so
    Clock::time_point prepare_not_before{};  // asked for its runtime already
    Clock::time_point warm_not_before{};
  };
  // How a wish can be met now.
  struct Way {
    bool pooled = false;
    bool warm = false;
  };
  // A making under way: what becomes of it belongs to the sandbox, or goes.
  struct Making;

  void on_template(const TemplateStatus& status) override;
  void on_launcher_gone() override;

  // pools.cc: the queue. Each says whether the waiter is served, or on its way out of the queue.
  bool serve(const WaiterPtr& waiter);
  bool has_its_share(const std::string& owner) const;
  bool serve_from(Pool& pool, const WaiterPtr& waiter, const TemplateStatus& status);
  bool serve_alone(const WaiterPtr& waiter, bool warm);
  void answer(Waiter& waiter, Result<std::unique_ptr<Sandbox>> result);
  void enqueue(const WaiterPtr& waiter);
  void forget(const WaiterPtr& waiter);
  void uncount(Waiter& waiter);
  Way way_for(const Wish& wish, Known& known);
  bool runtime_waits(Known& known);
  std::uint64_t promised(const Wish& wish) const;
  bool make_room(std::uint32_t sandboxes, std::uint64_t bytes, const Pool* except);
  void fail_overdue(Clock::time_point now);
  std::string why_full() const;
  void pump();
  void schedule_pump();
  void schedule_tick();

  // pools_making.cc: what is made, when.
  Pool* pool_for(const PoolKey& key, const Template& description);
  bool may_create() const;
  void refill();
  void create_for_pool(Pool& pool, const TemplateStatus& status);
  void pool_created(const PoolKey& key, Making& making, Result<wire::SandboxCreated> created);
  void pool_refused(Pool& pool, const Making& making, const Error& error);
  void create_alone(const WaiterPtr& waiter, bool warm, Charge charge);
  void alone_created(const WaiterPtr& waiter, Making& making, Result<wire::SandboxCreated> created);
  void full_at_launcher(const Error& error);
  void pass_overdue(Clock::time_point now);
  void made(const Making& making);
  bool prepares_networks() const;
  void note_network(const Making& making, const wire::SandboxCreated& created);
  void wait_for_quiet();

  boost::asio::io_context& io_;
  NodeOptions options_;
  Budget budget_;
  LauncherLink launcher_;
  std::map<std::string, Known, std::less<>> templates_;
  std::function<void(const TemplateStatus&)> on_word_of_template_;
  std::map<PoolKey, Pool> pools_;
  FairQueue<WaiterPtr> queue_;
  std::vector<WaiterPtr> being_made_;  // have left the queue: theirs is being made
  std::vector<std::shared_ptr<Making>> makings_;
  std::uint32_t creates_ = 0;  // of those, without the overdue ones
  std::uint32_t active_ = 0;
  std::uint64_t launchers_ = 0;
  Clock::time_point attached_at_;
  Clock::time_point gone_at_;
  Clock::time_point create_not_before_{};
  Clock::time_point network_until_{};     // sandboxes that wait are prepared for one
  Clock::time_point no_network_until_{};  // this host's kernel could not do it
  std::string full_;                      // what the launcher said when it had no room
  bool stopped_ = false;
  bool pump_scheduled_ = false;
  bool quiet_ = true;  // no run for a moment
  bool quiet_armed_ = false;
  boost::asio::steady_timer tick_timer_;
  boost::asio::steady_timer quiet_timer_;
  // Handlers that are on their way when we go see that we have gone.
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
