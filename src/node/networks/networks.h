// The networks of this host's sandboxes: the launcher lends the descriptors of each, the gateway
// opens it and applies its policy. Remembers what should be open, so that a restarted gateway, or
// one that served the server before us, gets what it lacks. One thread, no locks.
//
// Fails closed: connections of a sandbox whose network could not be opened are never answered.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "node/async/notifier.h"
#include "node/links/gateway_link.h"
#include "node/links/launcher_link.h"
#include "node/networks/network_service.h"
#include "node/node_options.h"
#include "node/runs/run_service.h"

namespace glovebox::node {

class Networks final : public NetworkService, private GatewayLink::Listener {
 public:
  using Failed = std::function<void(const Error&)>;
  using Closed = std::function<void(wire::NetworkFigures)>;

  // All borrowed. keep_alive_with(): what keeps them, and this object, during a call.
  Networks(boost::asio::io_context& io, LauncherLink& launcher, const NodeOptions& options);
  ~Networks() override;
  void keep_alive_with(std::function<std::shared_ptr<void>()> hold) { hold_ = std::move(hold); }

  void attach_gateway(UniqueFd socket);
  // The server stops: sandboxes keep their networks.
  void stop();

  // Waits for a gateway that is being restarted. kUnavailable: there is none.
  Task<> wait_for_gateway();
  // Opens the network of a sandbox for one run. The run does not wait for it; its connections do.
  // `failed` is called later, at most once, and never after close(), if it cannot be opened.
  void open(const SandboxId& id, std::string tenant, net::NetPolicy policy, Failed failed);
  // Of a run or a session that has ended. `done` (may be empty) is called later with its figures;
  // not at all if this object is destroyed first.
  void close(const SandboxId& id, Closed done);
  // Of a session in which packages are fetched: limited to the administrator's index, also when it
  // is reopened. on_decided() is not called for it; read_network() has its figures.
  Task<> open_for_build(SandboxId id, std::string tenant, net::NetPolicy policy);

  NetworkTotals totals() const;

  bool gateway_up() const override { return gateway_.up(); }
  Task<> set_network(SandboxId id, std::string tenant, net::NetPolicy policy) override;
  void restore_network(SandboxId id, std::string tenant, net::NetPolicy policy) override;
  void restored_all() override;
  Task<wire::NetworkFigures> read_network(SandboxId id) override;
  void on_decided(std::function<void(const Decided&)> call) override {
    on_decided_ = std::move(call);
  }
  void on_restarted(std::function<void(const Restarted&)> call) override {
    on_restarted_ = std::move(call);
  }

 private:
  struct Entry {
    SandboxId id;
    std::string tenant;
    net::NetPolicy policy;  // that it should follow
    bool is_build = false;
    std::optional<net::NetPolicy> sent{};          // that this gateway got last
    Failed failed{};                               // of a run
    std::vector<GatewayLink::Finished> waiting{};  // until it is open
    bool under_way = false;                        // being lent or opened
    bool open = false;                             // this gateway has it
    bool restored = false;      // of a previous server: whether it is up is unknown
    bool was_open = false;      // a gateway had it at some time
    bool incomplete = false;    // that was a previous gateway
    bool closed = false;        // by us
    wire::NetTotals counted{};  // its part of sums_
  };
  using EntryPtr = std::shared_ptr<Entry>;

  void on_decision(wire::NetworkDecided decided) override;
  void on_gateway_gone() override;

  EntryPtr find(const SandboxId& id) const;
  EntryPtr add(const SandboxId& id, std::string tenant, net::NetPolicy policy);
  Task<> set(SandboxId id, std::string tenant, net::NetPolicy policy, bool is_build);
  void follow(const EntryPtr& entry);
  void begin_open(const EntryPtr& entry);
  void settle(const EntryPtr& entry, Result<> how);
  void compare();
  void compare_one(const EntryPtr& entry);
  void close_unknown();
  void note_restarted(const EntryPtr& entry);
  void count(Entry& entry, const wire::NetTotals& totals);
  wire::NetworkFigures figures_of(Entry& entry, wire::NetworkReport report);
  void poll_some();

  boost::asio::io_context& io_;
  LauncherLink& launcher_;
  const NodeOptions& options_;
  GatewayLink gateway_;
  std::function<std::shared_ptr<void>()> hold_ = [] { return nullptr; };
  std::map<SandboxId, EntryPtr> entries_;
  std::set<SandboxId> open_at_gateway_;  // networks that the gateway had when it was attached
  bool is_listed_ = false;
  bool is_restored_ = false;  // every session of a previous server is known
  bool is_stopped_ = false;
  Notifier attached_;
  std::map<std::string, std::vector<SandboxId>> restarted_;  // by tenant, reported in a moment
  wire::NetTotals sums_;
  std::optional<SandboxId> last_polled_;
  boost::asio::steady_timer poll_timer_;
  std::function<void(const Decided&)> on_decided_;
  std::function<void(const Restarted&)> on_restarted_;
  // Handlers that are still under way see that this object is gone.
  std::shared_ptr<bool> gone_ = std::make_shared<bool>(false);
};

}  // namespace glovebox::node
