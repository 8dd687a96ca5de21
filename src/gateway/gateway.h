// The networks of this host's sandboxes, and the requests of the server about them. The server
// parses its clients' input and may be compromised, so the administrator's ceiling is enforced
// here.
//
// Runs on the one thread of its io_context.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/network.h"

namespace glovebox::gateway {

struct GatewayOptions {
  net::NetCeiling ceiling;
  // For networks of package builds, instead of `ceiling`; an error: why there are none.
  Result<net::NetCeiling> build_ceiling =
      fail(Errc::kPolicy,
           "no package index and no registry is configured (deps.index_url, deps.enabled, "
           "images.registries)");
  std::string hosts = "/etc/hosts";  // used for builds only
  ResolverOptions resolver;
  std::size_t max_open = 1024;               // relays of one sandbox
  std::optional<std::uint16_t> server_port;  // never dialled on this host
};

class Gateway {
 public:
  // How long the figures of a sandbox that has ended can still be read.
  static constexpr std::chrono::seconds kKept{30};

  static Result<std::unique_ptr<Gateway>> make(asio::io_context& io, GatewayOptions options);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Called for each new decision, to notify the current client.
  std::function<void(wire::NetworkDecided)> on_decided;

  wire::GatewayReply answer(wire::GatewayRequest request, std::vector<UniqueFd> fds);
  std::size_t networks() const { return networks_.size(); }

 private:
  struct Entry {
    std::shared_ptr<Network> network;
    std::unique_ptr<asio::steady_timer> forget;  // set once it has ended
  };
  Gateway(asio::io_context& io, GatewayOptions options, std::unique_ptr<Relays> relays,
          std::unique_ptr<OwnAddresses> own, std::size_t max_networks, std::size_t max_open_of_all);
  Result<> open(wire::OpenNetwork request, std::vector<UniqueFd> fds);
  Result<> change(wire::ChangePolicy request);
  Result<wire::NetworkReport> read(const wire::ReadNetwork& request);
  wire::NetworksListed list(std::uint32_t seq) const;
  Result<Entry*> find(const SandboxId& id);
  Entry& make_entry(const wire::OpenNetwork& request);
  void ended(const SandboxId& id);

  asio::io_context& io_;
  std::unique_ptr<Relays> relays_;
  std::unique_ptr<OwnAddresses> own_addresses_;
  Resolver resolver_;
  HostsFile hosts_;
  std::optional<Error> no_builds_;  // why
  std::size_t max_networks_;
  NetworkDependencies shared_;
  std::map<SandboxId, Entry> networks_;
};

}  // namespace glovebox::gateway
