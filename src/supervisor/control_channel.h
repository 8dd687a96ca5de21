// The messages between supervisor and server on a SEQPACKET socket, the server's descriptor 3:
//   supervisor to server:  "L" with a descriptor: a launcher's connection, to replace any other
//                          "G" with a descriptor: a gateway's connection, likewise
//                          "D" with a descriptor: a pipe, from which it can read what doctor found
//   server to supervisor:  "R{"url":"http://..."}" the server is ready; "N" it has no launcher;
//                          "M" it has no gateway; "D" a client wants to know what doctor finds
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
struct WantsDoctor {};
struct ChannelClosed {};
using FromServer =
    std::variant<ServerReady, NeedsLauncher, NeedsGateway, WantsDoctor, ChannelClosed>;

// The next message. The server parses clients' input and may be compromised: any other message is
// an error and is not interpreted.
Result<FromServer> receive_from_server(int channel);

// Connects to the launcher, which the server itself may not do, tells it that this client is a
// server, and passes the connection on. kUnavailable: the launcher does not listen (yet).
Result<> pass_launcher_connection(const std::string& launcher_socket, int channel);
// The same for the gateway, which needs no first message.
Result<> pass_gateway_connection(const std::string& gateway_socket, int channel);
// Passes the reading end of the pipe on.
Result<> pass_doctor_report(int pipe, int channel);

}  // namespace glovebox::supervisor
