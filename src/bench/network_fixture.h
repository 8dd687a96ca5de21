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

struct NetWorld {
  static constexpr const char* kName = "bench.glovebox.test";

  // What cannot be is not there, and the reason is.
  static NetWorld make();
  // For the server that is to be measured: it may reach `far`, and learns the name from us.
  std::vector<std::string> settings() const;

  std::string why_not;            // empty: `near`, `far` and `names` are there
  std::string why_not_tls;        // empty: `tls` is
  std::unique_ptr<NetPeer> near;  // on loopback: for comparison, from outside of sandboxes
  std::unique_ptr<NetPeer> far;   // on an address that sandboxes can reach
  std::unique_ptr<NetNames> names;
  std::unique_ptr<NetTls> tls;  // at the same address, port 443
};

}  // namespace glovebox::bench
