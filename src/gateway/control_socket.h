// Where the gateway's clients come from: a socket that only its starter may use, or one descriptor.
// There is one client at a time, and the newest is it: a server that was started again does not
// wait for its predecessor's connection to die.
#pragma once

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/relay/client_link.h"
#include "gateway/gateway.h"

namespace glovebox::gateway {

// Who may be a client.
struct Clients {
  uid_t uid = 0;   // and root
  pid_t only = 0;  // if not 0, just this process
};

// A SEQPACKET socket at this path, for nobody but its owner; one that is left there is replaced.
Result<UniqueFd> listen_at(const std::string& path);

class ControlSocket {
 public:
  ControlSocket(asio::io_context& io, Gateway& gateway);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // The gateway ends with this client.
  void serve_only(UniqueFd client, std::function<void()> ended);
  void serve(UniqueFd listening, Clients clients);
  bool has_had_client() const;

 private:
  using Socket = asio::posix::stream_descriptor;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::gateway
