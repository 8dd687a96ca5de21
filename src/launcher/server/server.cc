#include "launcher/server/server.h"

#include <utility>

#include "launcher/server/client_connections.h"
#include "launcher/server/event_loop.h"
#include "launcher/server/layer_requests.h"
#include "launcher/server/request_dispatcher.h"
#include "launcher/server/sandbox_requests.h"
#include "launcher/server/sandbox_table.h"
#include "launcher/server/sandbox_watch.h"
#include "launcher/server/template_requests.h"

namespace glovebox::launcher {

Result<> serve_clients(SandboxMaker& maker, std::uint32_t max_sandboxes, UniqueFd listener,
                       UniqueFd client, pid_t owner, std::function<void()> when_idle) {
  TRY(SandboxWatch watch, SandboxWatch::open());
  ClientConnections clients(std::move(listener), owner);
  SandboxTable sandboxes(maker, clients, std::move(watch), max_sandboxes);
  SandboxRequests sandbox_requests(maker, clients, sandboxes);
  TemplateRequests template_requests(maker, clients);
  LayerRequests layer_requests(maker, clients, sandboxes);
  clients.on_drop([&](Client& gone) {
    maker.client_gone(&gone);
    layer_requests.client_gone(gone);
    sandboxes.client_gone(gone);
  });
  if (client) TRY_OK(clients.add(std::move(client)));
  RequestDispatcher dispatcher(clients, sandboxes, sandbox_requests, template_requests,
                               layer_requests);
  EventLoop loop({.maker = maker,
                  .clients = clients,
                  .sandboxes = sandboxes,
                  .sandbox_requests = sandbox_requests,
                  .template_requests = template_requests,
                  .layer_requests = layer_requests,
                  .dispatcher = dispatcher,
                  .when_idle = std::move(when_idle)});
  return loop.run();
}

}  // namespace glovebox::launcher
