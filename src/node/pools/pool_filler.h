// Fills the pools: creates sandboxes for them ahead of demand, the emptiest pool first, and rather
// while no run is under way, because the launcher and the CPUs belong to the runs. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>

#include "node/pools/budget.h"
#include "node/pools/idle_pools.h"
#include "node/pools/sandbox_creator.h"
#include "node/pools/template_table.h"

namespace glovebox::node {

class PoolFiller {
 public:
  class Listener {
   public:
    virtual ~Listener() = default;
    // A sandbox was added to a pool, or has ended there, or could not be created.
    virtual void on_pool_changed() = 0;
    // No run for a moment: a good time to refill().
    virtual void on_quiet() = 0;
    virtual void on_launcher_full() = 0;
  };
  // All outlive this object.
  struct Parts {
    boost::asio::io_context& io;
    Budget& budget;
    LauncherLink& launcher;
    TemplateTable& templates;
    IdlePools& pools;
    SandboxCreator& creator;
    const NodeOptions& options;
  };
  PoolFiller(Parts parts, Listener& listener);
  ~PoolFiller() { *gone_ = true; }
  PoolFiller(const PoolFiller&) = delete;
  PoolFiller& operator=(const PoolFiller&) = delete;

  void stop();
  // A run has its sandbox, or is done with it.
  void run_began();
  void run_ended();
  std::uint32_t active_runs() const { return active_runs_; }

  // Creates what the pools want, as far as the launcher and the budget allow. Not while requests
  // are queued: what there is to give is theirs.
  void refill();
  // kWaiter: a run waits for this one.
  enum class Demand : bool { kAhead, kWaiter };
  void create_for(Pool& pool, const TemplateStatus& status, Demand demand);

 private:
  struct Candidate {
    Pool* pool = nullptr;
    const TemplateStatus* status = nullptr;
  };
  Candidate emptiest_pool();
  bool may_wait_one_more(const Pool& pool) const;
  bool is_in_demand(const Pool& pool, Demand demand) const;
  void created(const PoolKey& key, SandboxCreation& creation,
               Result<std::unique_ptr<Sandbox>> sandbox);
  void refused(Pool& pool, const SandboxCreation& creation, const Error& error);
  void wait_for_quiet();

  Parts parts_;
  Listener& listener_;
  std::uint32_t active_runs_ = 0;
  bool stopped_ = false;
  bool quiet_ = true;  // no run for a moment
  bool quiet_armed_ = false;
  boost::asio::steady_timer quiet_timer_;
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
