// Serves clients' requests about templates: reports their status to servers, has runtimes started,
// takes servers' own definitions and removes them.
#pragma once

#include <string>

#include "launcher/sandbox/sandbox_maker.h"
#include "launcher/server/client_connections.h"
#include "wire/launcher/launcher_messages.h"

namespace glovebox::launcher {

class TemplateRequests {
 public:
  TemplateRequests(SandboxMaker& maker, ClientConnections& clients)
      : maker_(maker), clients_(clients) {}

  // The client is a server: from now on it is sent the status of every template it may use.
  void become_server(Client& client);
  void prepare(Client& client, const std::string& name);
  void define(Client& client, const wire::DefineTemplate& request);
  void forget(Client& client, const wire::ForgetTemplate& request);

  // Sends the servers what has changed since the last call, as far as their sockets have room.
  void report_changes();
  void continue_reporting(Client& client);

 private:
  SandboxMaker& maker_;
  ClientConnections& clients_;
};

}  // namespace glovebox::launcher
