// A network namespace of a sandbox's own, in which every connection and every question for a name
// ends at two sockets that somebody outside is given. There is no device but loopback, no address
// but one of its own, no way out: what is sent to any address arrives here.
//
//   nftables, before routing:
//     to loopback or the own address     left alone, but for our own listening socket
//     TCP                                to the listening socket, by tproxy: what it accepts says
//                                        with getsockname() where the connection was meant to go;
//                                        new ones beyond a rate are reset
//     UDP to port 53, IPv4               to the socket for names
//     all else                           refused by ICMP
//
// The one that makes it has CAP_NET_ADMIN over the namespace; nobody else in it must.
#pragma once

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

inline constexpr const char* kNameServer = "100.64.0.53";  // as resolv.conf says it

struct NetworkSockets {
  UniqueFd connections;  // listens; IPv4 and IPv6
  UniqueFd names;        // datagrams; IP_PKTINFO tells which address was asked
};

// All but the way to it. Loopback is up already.
Result<NetworkSockets> prepare_own_network();
// The default routes. From here on every address is reachable, at the sockets.
Result<> raise_own_network();

}  // namespace glovebox::sys
