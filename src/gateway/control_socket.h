// Accepts the gateway's clients, on a socket that only the user who started it may use, or takes
// one connected descriptor. There is one client at a time, and a new one replaces the old: a
// restarted server does not wait for its predecessor's connection to close.
#pragma once

#include <sys/types.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "gateway/client_connection.h"
#include "gateway/gateway.h"

namespace glovebox::gateway {

// Which processes may be clients.
struct AllowedClients {
  uid_t uid = 0;   // and root
  pid_t only = 0;  // if not 0, just this process
};

// A SEQPACKET socket at this path, mode 0600; a stale one is replaced.
Result<UniqueFd> listen_at(const std::string& path);

class ControlSocket {
 public:
  ControlSocket(asio::io_context& io, Gateway& gateway);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Serves this client alone; `ended` is called when it has gone.
  void serve_only(UniqueFd client, std::function<void()> ended);
  void serve(UniqueFd listening, AllowedClients clients);
  bool has_had_client() const;

 private:
  using Socket = asio::posix::stream_descriptor;
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace glovebox::gateway
