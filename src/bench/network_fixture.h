// What the rows about networks reach: servers of the benchmark's own on an address of this host
// that is not loopback (a sandbox's loopback is its own), and a name for it. The host's network
// is used as it is, and nothing but this host itself is served or asked.
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
// The first that a server can be told to open to sandboxes, or why there is none.
Result<net::IpAddress> pick_address(std::span<const net::IpAddress> all);

struct NetworkFixture {
  static constexpr const char* kName = "bench.glovebox.test";

  // What cannot be is not there, and the reason is.
  static NetworkFixture make();
  // For the server that is to be measured: it may reach `far`, and learns the name from us.
  std::vector<std::string> settings() const;

  std::string unavailable_reason;      // empty: `near`, `far` and `names` are there
  std::string tls_unavailable_reason;  // empty: `tls` is
  std::unique_ptr<NetworkPeer> near;   // on loopback: for comparison, from outside of sandboxes
  std::unique_ptr<NetworkPeer> far;    // on an address that sandboxes can reach
  std::unique_ptr<DnsServer> names;
  std::unique_ptr<TlsServer> tls;  // at the same address, port 443
};

}  // namespace glovebox::bench
