// What the sandboxes reach in network measurements: servers on an address of this host that is not
// loopback (a sandbox has its own loopback), and a name for it. The host's network is not changed,
// and no other host is served or contacted.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/dns_server.h"
#include "bench/network_peer.h"
#include "bench/tls_server.h"
#include "net/address.h"

namespace glovebox::bench {

// The IPv4 addresses of this host's interfaces that are up.
std::vector<net::IpAddress> addresses_of_this_host();
// The first address that can be opened to sandboxes, or why there is none.
Result<net::IpAddress> pick_address(std::span<const net::IpAddress> all);

struct NetworkFixture {
  static constexpr const char* kName = "bench.glovebox.test";

  // Members that cannot be created are null, with a reason.
  static NetworkFixture make();
  // Settings of the measured server: it may reach `far` and uses the name server.
  std::vector<std::string> settings() const;

  std::string unavailable_reason;      // empty: `near`, `far` and `names` exist
  std::string tls_unavailable_reason;  // empty: `tls` exists
  std::unique_ptr<NetworkPeer> near;   // on loopback, for comparison without a sandbox
  std::unique_ptr<NetworkPeer> far;    // on an address that sandboxes can reach
  std::unique_ptr<DnsServer> names;
  std::unique_ptr<TlsServer> tls;  // at the same address, port 443
};

}  // namespace glovebox::bench
