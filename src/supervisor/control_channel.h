// What supervisor and server say to each other over a SEQPACKET socket, the server's descriptor 3:
//   supervisor to server:  "L" with a descriptor: a launcher's connection, to replace any other
//                          "G" with a descriptor: a gateway's connection, likewise
//   server to supervisor:  "R{"url":"http://..."}" I serve there; "N" I have no launcher;
//                          "M" I have no gateway
#pragma once

#include <string>
#include <variant>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::supervisor {

struct ServerReady {
  std::string url;
};
struct NeedsLauncher {};
struct NeedsGateway {};
struct ChannelClosed {};
using FromServer = std::variant<ServerReady, NeedsLauncher, NeedsGateway, ChannelClosed>;

// The next message. The server parses clients and may be in somebody else's hands: what is not as
// above is an error, and nothing else of it is looked at.
Result<FromServer> receive_from_server(int channel);

// Connects to a launcher, as somebody who may, tells it that this client is a server, and hands the
// connection on. kUnavailable: the launcher does not listen (yet).
Result<> introduce_launcher(const std::string& launcher_socket, int channel);
// The same of the gateway, which needs no word of ours.
Result<> introduce_gateway(const std::string& gateway_socket, int channel);

}  // namespace glovebox::supervisor
