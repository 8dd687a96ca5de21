// A sandbox's own network namespace, in which every connection and every DNS query ends at two
// sockets that are passed to the gateway. There is no device but loopback and no route out: packets
// to any address arrive at these sockets.
//
//   nftables, before routing:
//     to loopback or its own address     left alone, but for our own listening socket
//     TCP                                to the listening socket, by tproxy: what it accepts says
//                                        with getsockname() where the connection was meant to go;
//                                        new ones beyond a rate are reset
//     UDP to port 53, IPv4               to the socket for names
//     all else                           refused by ICMP
//
// Its creator has CAP_NET_ADMIN in the namespace; no other process in it may have it.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

inline constexpr const char* kNameServer = "100.64.0.53";  // as resolv.conf says it

struct NetworkSockets {
  UniqueFd connections;  // listens; IPv4 and IPv6
  UniqueFd names;        // DNS datagrams; IP_PKTINFO has the address they were sent to
};

// Everything but the routes. Loopback is up already.
Result<NetworkSockets> prepare_own_network();
// The default routes. From here on every address is reachable, at the sockets.
Result<> raise_own_network();

}  // namespace glovebox::sys
