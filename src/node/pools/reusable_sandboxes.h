// The sandboxes that serve one call after the other, by the key of their calls. Between two calls
// the agent inside removes everything that the last one left; only then a sandbox is idle here. Two
// calls share one only if they have the same key, which names the project, the API key, the
// template, the profile and the engine.
//
// Decides how many of a key there should be, has them created and cleaned, and drops idle ones.
// Owns the idle ones. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "node/links/launcher_link.h"
#include "node/node_options.h"
#include "node/pools/budget.h"
#include "node/pools/pool_filler.h"
#include "node/pools/sandbox_creator.h"
#include "node/pools/sandbox_request.h"
#include "node/pools/sandbox_waiter.h"
#include "node/sandboxes/reuse_slot.h"
#include "node/sandboxes/sandbox.h"

namespace glovebox::node {

class ReusableSandboxes {
 public:
  // All outlive this object. `make_room` and `may_have` are asked before one is created.
  struct Parts {
    Budget& budget;
    SandboxCreator& creator;
    LauncherLink& launcher;
    const NodeOptions& options;
    std::function<bool(std::uint32_t sandboxes, std::uint64_t bytes)> make_room;
    std::function<bool(const SandboxRequest&)> may_have;
  };
  ReusableSandboxes(Parts parts, PoolFiller::Listener& listener)
      : parts_(std::move(parts)), listener_(listener) {}
  ~ReusableSandboxes() { *gone_ = true; }
  ReusableSandboxes(const ReusableSandboxes&) = delete;
  ReusableSandboxes& operator=(const ReusableSandboxes&) = delete;

  // A request entered or left the queue. Others than those of reusable sandboxes are ignored.
  void queued(const SandboxRequest& request);
  void left_queue(const SandboxRequest& request);
  // One that is idle, for this request: the one that was used last, alive and of this generation of
  // its template or a later one. Null: there is none, or the request is for a sandbox of its own.
  std::unique_ptr<Sandbox> take(const SandboxRequest& request, std::uint32_t generation);
  // None was idle: creates more if that serves this request sooner. The first in the queue gets the
  // one that is ready first. The error says why none could be created a moment ago.
  Result<> create_for(SandboxWaiter& waiter);
  // A call has ended in order; see SandboxAllocator::recycle().
  void recycle(Sandbox& sandbox);

  // Drops what has ended, or has been idle for long.
  void tick(Clock::time_point now);
  // Makes room: drops one that is idle, the one that has been so for longest. False: there is none.
  bool drop_one();
  // A call that is there comes before those that may come: drops idle ones of its owner until it
  // may have a sandbox, or there are none.
  void give_way_to(const SandboxRequest& request);
  // Drops all that are idle.
  void clear();
  // What is cleaned from now on is dropped.
  void stop() { stopped_ = true; }

 private:
  using IsMeant = std::function<bool(const Sandbox&)>;
  bool drop_oldest(const IsMeant& is_meant);
  struct Group {
    std::deque<std::unique_ptr<Sandbox>> idle;  // the last one used last
    std::shared_ptr<std::uint32_t> alive = std::make_shared<std::uint32_t>(0);
    std::uint32_t coming = 0;   // of these: being created or cleaned
    std::uint32_t waiting = 0;  // requests in the queue
    Clock::time_point last_take{};
    Clock::duration interval = std::chrono::hours(1);  // between the last two takes
    // Why the last one could not be created, for a moment.
    std::optional<Error> failure{};
    Clock::time_point failed_at{};
  };

  bool wants_another(const Group& group, const SandboxWaiter& waiter, bool first_try) const;
  bool is_in_demand(const Group& group) const;
  bool may_serve_again(const ReuseSlot& slot, Clock::time_point now) const;
  void create(Group& group, const SandboxRequest& request);
  void created(const std::string& key, SandboxCreation& creation,
               Result<std::unique_ptr<Sandbox>> sandbox);
  void cleaned(const std::string& key, Result<std::unique_ptr<Sandbox>> sandbox);

  Parts parts_;
  PoolFiller::Listener& listener_;
  std::map<std::string, Group> groups_;
  bool stopped_ = false;
  // Handlers that are still under way see that this object is gone.
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
