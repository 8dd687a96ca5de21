#include "launcher/server/request_dispatcher.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/fd_message.h"
#include "base/log.h"

namespace glovebox::launcher {
namespace {

// How many requests for sandboxes of one client are read ahead.
constexpr std::size_t kMaxPendingCreates = 64;
// Requests of one client that are served in one round, so that the others get their turn.
constexpr std::size_t kMaxRequestsPerRound = 32;
constexpr std::size_t kMaxRequestFds = 2 + wire::kMaxMounts;

}  // namespace

bool RequestDispatcher::may_read(const Client& client) {
  return client.creates.size() < kMaxPendingCreates && !client.is_blocked;
}

void RequestDispatcher::serve_some(Client& client) { serve(client, kMaxRequestsPerRound); }

// A client that has hung up cannot send any more, so this ends.
void RequestDispatcher::serve_all(Client& client) {
  serve(client, std::numeric_limits<std::size_t>::max());
}

void RequestDispatcher::serve(Client& client, std::size_t max_requests) {
  while (!client.gone && client.creates.size() < kMaxPendingCreates && max_requests-- > 0) {
    client.is_blocked = !ClientConnections::has_room(client);
    if (client.is_blocked || !serve_one(client)) return;
  }
}

// Whether there may be another request.
bool RequestDispatcher::serve_one(Client& client) {
  auto received = receive_message(client.socket.get(), wire::kMaxLauncherMessage, kMaxRequestFds);
  if (!received && received.error().sys_errno() == EAGAIN) return false;
  if (!received || received->bytes.empty()) {
    clients_.drop(client);
    return false;
  }
  auto request = wire::decode_launcher_request(received->bytes);
  if (!request) {
    log::warn("a client sent a malformed request; its connection is closed");
    clients_.drop(client);
    return false;
  }
  dispatch(client, std::move(*request), std::move(received->fds));
  return true;
}

void RequestDispatcher::dispatch(Client& client, wire::LauncherRequest request,
                                 std::vector<UniqueFd> fds) {
  if (auto* create = std::get_if<wire::CreateSandbox>(&request)) {
    client.creates.push_back({std::move(*create), std::move(fds)});
  } else if (auto* take = std::get_if<wire::TakeSandbox>(&request)) {
    sandboxes_.take(client, *take);
  } else if (auto* destroy = std::get_if<wire::DestroySandbox>(&request)) {
    sandboxes_.destroy(client, destroy->id);
  } else if (auto* recycle = std::get_if<wire::RecycleSandbox>(&request)) {
    sandboxes_.recycle(client, *recycle, std::move(fds));
  } else if (auto* freeze = std::get_if<wire::FreezeSandbox>(&request)) {
    sandboxes_.freeze(client, *freeze);
  } else if (auto* measure = std::get_if<wire::MeasureSandbox>(&request)) {
    sandboxes_.measure(client, *measure);
  } else if (auto* host = std::get_if<wire::MeasureHost>(&request)) {
    sandboxes_.measure_host(client, host->seq);
  } else if (auto* list = std::get_if<wire::ListSandboxes>(&request)) {
    sandboxes_.list(client, list->seq);
  } else if (auto* lend = std::get_if<wire::LendNetwork>(&request)) {
    sandboxes_.lend_network(client, *lend);
  } else if (std::holds_alternative<wire::BecomeServer>(request)) {
    templates_.become_server(client);
  } else if (auto* prepare = std::get_if<wire::PrepareTemplate>(&request)) {
    templates_.prepare(client, prepare->name);
  } else if (auto* define = std::get_if<wire::DefineTemplate>(&request)) {
    templates_.define(client, *define);
  } else if (auto* forget = std::get_if<wire::ForgetTemplate>(&request)) {
    templates_.forget(client, *forget);
  } else if (auto* keep = std::get_if<wire::KeepLayer>(&request)) {
    layers_.keep(client, std::move(*keep));
  } else if (auto* note = std::get_if<wire::NoteLayer>(&request)) {
    layers_.note(client, std::move(*note));
  } else if (auto* drop = std::get_if<wire::DropLayer>(&request)) {
    layers_.drop(client, *drop);
  } else if (auto* layers = std::get_if<wire::ListLayers>(&request)) {
    layers_.list(client, layers->seq);
  }
}

bool RequestDispatcher::has_pending_creates() const {
  return std::any_of(clients_.all().begin(), clients_.all().end(),
                     [](const Client& client) { return !client.creates.empty(); });
}

void RequestDispatcher::create_next() {
  std::list<Client>& clients = clients_.all();
  for (auto client = clients.begin(); client != clients.end(); ++client) {
    if (client->gone || client->creates.empty()) continue;
    PendingCreate pending = std::move(client->creates.front());
    client->creates.pop_front();
    table_.create(*client, pending.request, std::move(pending.fds));
    clients.splice(clients.end(), clients, client);
    return;
  }
}

}  // namespace glovebox::launcher
