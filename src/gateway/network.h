// The network of one sandbox: accepts the connections of its listening socket, decides by the
// policy, dials exactly the address that was decided on, and has the connection relayed. Keeps the
// totals and the log. What a guest does is bounded per sandbox: connections in setup or open,
// budgets, the rate.
//
// The life of a connection: handle_connection() decides by address; admit() waits for a ClientHello
// where the name matters; dial_and_relay() dials; on_relay_end() ends it.
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
#include "gateway/dns/dns_responder.h"
#include "gateway/dns/resolver.h"
#include "gateway/dns/sandbox_names.h"
#include "gateway/own_addresses.h"
#include "gateway/relay/relays.h"
#include "gateway/token_bucket.h"
#include "net/net_policy.h"
#include "wire/gateway/gateway_messages.h"

namespace glovebox::gateway {

// Shared by all networks; outlives them.
struct NetworkDependencies {
  asio::io_context& io;
  Relays& relays;
  Resolver& resolver;
  OwnAddresses& own_addresses;
  HostsFile& hosts;  // for builds
  net::NetCeiling ceiling;
  net::NetCeiling build_ceiling;    // for networks of package builds
  std::size_t max_open = 1024;      // of one sandbox, in setup or relayed
  std::size_t max_open_of_all = 0;  // bounded by the number of descriptors
  // Connections in setup of all sandboxes, counted by the networks. A shared pointer, because they
  // may outlive everything else here when the process ends.
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
  // Each connection may keep one of the host's ports in TIME_WAIT for a minute.
  static constexpr std::uint32_t kDialsPerSecond = 100;
  static constexpr std::uint32_t kDialBurst = 1500;

  // Fixed for its whole life.
  enum class Purpose : std::uint8_t { kAny, kBuild };
  Network(NetworkDependencies& shared, SandboxId id, std::string tenant, Purpose purpose);
  ~Network() override;

  // Called for each new entry of the log, and when the sandbox has ended.
  std::function<void(const wire::NetDecision&)> on_decided;
  std::function<void()> on_ended;

  // Serves these sockets by this policy from now on, instead of the previous ones. The caller has
  // checked the policy against the ceiling.
  Result<> open(NetworkSockets sockets, net::NetPolicy policy);
  // Applies to new connections; existing ones that it forbids are reset.
  void change_policy(net::NetPolicy policy);
  // Closes everything; the totals and the log stay.
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
  // Where a connection goes, and what the decision is based on.
  struct Target {
    net::IpAddress address;
    std::uint16_t port = 0;
    std::vector<net::HostName> names;          // for which DNS returned the address
    std::optional<net::HostName> server_name;  // in the ClientHello
    bool hello_was_read = false;
  };
  struct Link {
    Target target;
    std::optional<DecisionLog::Index> decision;
  };
  class Setup;

  static asio::awaitable<void> accept(std::shared_ptr<Network> self, std::shared_ptr<Socket> from);
  static asio::awaitable<void> watch(std::shared_ptr<Network> self,
                                     std::shared_ptr<Socket> process);
  void handle_connection(UniqueFd guest);
  static asio::awaitable<void> admit(std::shared_ptr<Network> self, UniqueFd guest, Target target,
                                     net::AtConnect decided);
  static asio::awaitable<void> dial_and_relay(std::shared_ptr<Network> self,
                                              std::shared_ptr<Socket> guest,
                                              std::shared_ptr<Socket> dialling, Target target,
                                              net::Verdict verdict);
  asio::awaitable<net::Verdict> decide_by_hello(std::shared_ptr<Socket> guest, Target& target,
                                                net::AtConnect decided);
  net::Verdict decide_now(const Target& target) const;
  bool is_connection_budget_spent() const;
  std::optional<std::string> limit_reached() const;
  bool is_gateway_full() const;
  std::optional<std::string> local_address_refusal(const Target& target);
  void close_forbidden_relays();
  void note_denied(const Target& target, std::string rule);
  std::optional<DecisionLog::Index> note(const Target& target, bool allowed, std::string rule);
  void set_rules(net::NetPolicy policy);

  // RelayOwner
  std::uint64_t bytes_left() const override;
  void on_moved(RelayId id, std::uint64_t out, std::uint64_t in) override;
  void on_relay_end(RelayId id, bool by_budget) override;

  NetworkDependencies& shared_;
  SandboxId id_;
  std::string tenant_;
  bool is_build_;
  std::shared_ptr<const net::NetRules> rules_;
  net::NetBudgets budgets_;  // in force: the policy's, or the ceiling's
  std::shared_ptr<SandboxNames> names_;
  std::unique_ptr<DnsResponder> dns_responder_;
  std::shared_ptr<Socket> listener_;
  std::shared_ptr<Socket> process_;
  std::unordered_map<RelayId, Link> links_;
  std::set<std::shared_ptr<Socket>> waiting_;  // sockets of connections in setup
  std::size_t setting_up_ = 0;
  TokenBucket dials_{kDialsPerSecond, kDialBurst};
  DecisionLog log_;
  wire::NetTotals totals_;  // without what names_ counts
};

}  // namespace glovebox::gateway
