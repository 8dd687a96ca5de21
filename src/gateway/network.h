// The network of one sandbox: takes in the connections that come to its listening socket, decides,
// dials exactly what was decided, and has it relayed. Keeps the figures and the log. Everything a
// guest does here costs it its own share: connections that are set up or open, budgets, the rate.
//
// The life of a connection: take_in() decides by address; admit() waits for a ClientHello where
// the name counts; connect_through() dials; on_relay_end() is the end.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "base/task.h"
#include "base/unique_fd.h"
#include "gateway/decision_log.h"
#include "gateway/dns/dns_server.h"
#include "gateway/own_addresses.h"
#include "gateway/relay/relays.h"
#include "gateway/dns/resolver.h"
#include "gateway/dns/sandbox_names.h"
#include "gateway/relay/token_bucket.h"
#include "net/net_policy.h"
#include "wire/gateway_messages.h"

namespace glovebox::gateway {

// What all networks share; outlives them.
struct Shared {
  asio::io_context& io;
  Relays& relays;
  Resolver& resolver;
  OwnAddresses& own_addresses;
  HostsFile& hosts;  // for builds
  net::NetCeiling ceiling;
  net::NetCeiling build_ceiling;    // of networks in which packages are fetched
  std::size_t max_open = 1024;      // of one sandbox, set up or relayed
  std::size_t max_open_of_all = 0;  // so that there are descriptors for them
  // Of all sandboxes, kept by them. Connections that are set up may outlive everything else here
  // when the process ends.
  std::shared_ptr<std::size_t> setting_up = std::make_shared<std::size_t>(0);
  std::optional<std::uint16_t> server_port;  // never dialled on this host
};

struct NetworkSockets {
  UniqueFd connections;
  UniqueFd names;
  UniqueFd process;  // a pidfd
};

class Network final : public std::enable_shared_from_this<Network>, private RelayOwner {
 public:
  using Socket = asio::posix::stream_descriptor;
  // Each may leave a port of this host's taken for a minute.
  static constexpr std::uint32_t kDialsPerSecond = 100;
  static constexpr std::uint32_t kDialsAtOnce = 1500;

  // Of a build of packages, or of any other sandbox; for its whole life.
  enum class For : std::uint8_t { kAny, kBuild };
  Network(Shared& shared, SandboxId id, std::string tenant, For what);
  ~Network() override;

  // Once for each decision of a kind that is new here; and when the sandbox has ended.
  std::function<void(const wire::NetDecision&)> on_decided;
  std::function<void()> on_ended;

  // Serves these sockets by this policy from now on, instead of those that were there. The ceiling
  // was asked before.
  Result<> open(NetworkSockets sockets, net::NetPolicy policy);
  // New connections follow it; those that it forbids are cut.
  void change_policy(net::NetPolicy policy);
  // Everything ends, what is set up is cut; the figures stay.
  void close();

  bool is_open() const { return listener_ != nullptr; }
  const SandboxId& id() const { return id_; }
  const std::string& tenant() const { return tenant_; }
  bool is_build() const { return is_build_; }
  const net::NetCeiling& ceiling() const {
    return is_build_ ? shared_.build_ceiling : shared_.ceiling;
  }
  wire::NetTotals totals() const;
  wire::NetworkReport report(std::uint32_t seq) const;

 private:
  // Where a connection goes, and by what it is decided.
  struct Target {
    net::IpAddress address;
    std::uint16_t port = 0;
    std::vector<net::HostName> names;   // that it was told for, at the time
    std::optional<net::HostName> said;  // in a ClientHello
    bool looked = false;                // for one
  };
  struct Link {
    Target target;
    std::optional<DecisionLog::Index> decision;
  };
  class Setup;

  static asio::awaitable<void> accept(std::shared_ptr<Network> self, std::shared_ptr<Socket> from);
  static asio::awaitable<void> watch(std::shared_ptr<Network> self,
                                     std::shared_ptr<Socket> process);
  void take_in(UniqueFd guest);
  static asio::awaitable<void> admit(std::shared_ptr<Network> self, UniqueFd guest, Target target,
                                     net::AtConnect decided);
  static asio::awaitable<void> connect_through(std::shared_ptr<Network> self,
                                               std::shared_ptr<Socket> guest,
                                               std::shared_ptr<Socket> dialling, Target target,
                                               net::Verdict verdict);
  asio::awaitable<net::Verdict> decide_by_hello(std::shared_ptr<Socket> guest, Target& target,
                                                net::AtConnect decided);
  net::Verdict decide_now(const Target& target) const;
  bool are_connections_spent() const;
  std::optional<std::string> why_full() const;
  bool is_all_taken() const;
  std::optional<std::string> why_not_here(const Target& target);
  void cut_what_is_forbidden();
  void note_denied(const Target& target, std::string rule);
  std::optional<DecisionLog::Index> note(const Target& target, bool allowed, std::string rule);
  void set_rules(net::NetPolicy policy);

  // RelayOwner
  std::uint64_t bytes_left() const override;
  void on_moved(RelayId id, std::uint64_t out, std::uint64_t in) override;
  void on_relay_end(RelayId id, bool by_budget) override;

  Shared& shared_;
  SandboxId id_;
  std::string tenant_;
  bool is_build_;
  std::shared_ptr<const net::NetRules> rules_;
  net::NetBudgets budgets_;  // in force: the policy's, or the ceiling's
  std::shared_ptr<SandboxNames> names_;
  std::unique_ptr<DnsDoor> door_;
  std::shared_ptr<Socket> listener_;
  std::shared_ptr<Socket> process_;
  std::unordered_map<RelayId, Link> links_;
  std::set<std::shared_ptr<Socket>> waiting_;  // sockets of connections that are set up
  std::size_t setting_up_ = 0;
  TokenBucket dials_{kDialsPerSecond, kDialsAtOnce};
  DecisionLog log_;
  wire::NetTotals totals_;  // but what others count
};

}  // namespace glovebox::gateway
