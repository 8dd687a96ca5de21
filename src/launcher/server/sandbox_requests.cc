#include "launcher/server/sandbox_requests.h"

#include "launcher/policy/request_checks.h"

namespace glovebox::launcher {

void SandboxRequests::take(Client& client, const wire::TakeSandbox& request) {
  SandboxRecord* record = sandboxes_.find(client, request.id);
  if (record == nullptr || !record->announced || !record->sandbox.is_waiting()) {
    return clients_.refuse(
        client, 0, Error(Errc::kNotFound, "no sandbox " + request.id.str() + " waits to be taken"));
  }
  const auto limits = maker_.checked_limits(request.limits);
  const Result<> taken = limits
                             ? record->sandbox.take(*limits, request.network_up, request.cpu_weight)
                             : Result<>(fail(limits.error()));
  if (taken) {
    record->tenant = request.tenant;
    return;
  }
  record->client = nullptr;
  clients_.refuse(client, 0, taken.error());
  clients_.send(client, wire::SandboxEnded{request.id, EndReason::kDestroyed, {}});
  record->sandbox.kill(EndReason::kDestroyed);
}

void SandboxRequests::destroy(Client& client, const SandboxId& id) {
  SandboxRecord* record = sandboxes_.find(client, id);
  if (record == nullptr) {
    return clients_.refuse(client, 0, Error(Errc::kNotFound, "there is no sandbox " + id.str()));
  }
  // The usage is known now; the sandbox dies and is cleaned up after the reply. If a limit was
  // reached before the client let go, that stays the reason.
  const EndReason reason =
      record->sandbox.is_ending() ? record->sandbox.end_reason() : EndReason::kDestroyed;
  record->client = nullptr;
  // The reply first: a killed process on our CPU would run to its end before us.
  clients_.send(client, wire::SandboxEnded{id, reason, record->sandbox.usage()});
  record->sandbox.kill(EndReason::kDestroyed);
  if (clients_.is_private()) maker_.jails().nurseries().kill_plain_nursery();
}

void SandboxRequests::recycle(Client& client, const wire::RecycleSandbox& request,
                              std::vector<UniqueFd> fds) {
  SandboxRecord* record = sandboxes_.find(client, request.id);
  if (record == nullptr) {
    return clients_.refuse(client, request.seq,
                           Error(Errc::kNotFound, "there is no sandbox " + request.id.str()));
  }
  Sandbox& sandbox = record->sandbox;
  const Usage usage = sandbox.usage();
  const EndReason reason = sandbox.is_ending() ? sandbox.end_reason() : EndReason::kDestroyed;
  clients_.send(client, wire::SandboxEnded{request.id, reason, usage});
  const bool can_go_on = record->announced && sandbox.reuse() != nullptr && !sandbox.is_waiting() &&
                         !sandbox.is_ending() && usage.oom_kills == 0 &&
                         fds.size() == (request.keeps_runtime ? 0 : 1);
  if (can_go_on && request.keeps_runtime) {
    sandbox.begin_waiting_for_a_call();
    clients_.send(client, wire::SandboxCreated{request.seq, request.id, sandbox.walls(),
                                               sandbox.reuse()->generation, sandbox.has_network()});
    return;
  }
  Result<> begun = can_go_on ? check_link(fds[0].get(), LinkOf::kRun)
                             : Result<>(fail(Errc::kConflict, "the sandbox cannot be used again"));
  if (begun) begun = sandboxes_.recycle(*record, request, std::move(fds[0]));
  if (begun) return;
  clients_.refuse(client, request.seq, begun.error());
  record->client = nullptr;
  sandbox.kill(EndReason::kDestroyed);
}

SandboxRecord* SandboxRequests::find_session(Client& client, const SandboxId& id,
                                             std::uint32_t seq) {
  SandboxRecord* record = sandboxes_.find(client, id);
  const bool there = record != nullptr && record->announced &&
                     record->sandbox.session() != nullptr && !record->sandbox.is_ending();
  if (!there) {
    clients_.refuse(client, seq, Error(Errc::kNotFound, "there is no session " + id.str()));
  }
  return there ? record : nullptr;
}

void SandboxRequests::freeze(Client& client, const wire::FreezeSandbox& request) {
  if (SandboxRecord* record = find_session(client, request.id, request.seq)) {
    sandboxes_.sessions().freeze(client, *record, request);
  }
}

void SandboxRequests::measure(Client& client, const wire::MeasureSandbox& request) {
  if (const SandboxRecord* record = find_session(client, request.id, request.seq)) {
    clients_.send(client, sandboxes_.sessions().measure(*record, request.seq));
  }
}

void SandboxRequests::measure_host(Client& client, std::uint32_t seq) {
  const sys::CgroupTotals& totals = maker_.parents().totals();
  const sys::CgroupTotalsNow now = maker_.parents().now();
  wire::HostMeasured measured;
  measured.seq = seq;
  measured.memory_bytes = now.memory_bytes.value_or(0);
  measured.memory_limit_bytes = now.memory_bytes ? totals.memory_bytes : 0;
  measured.socket_bytes = now.socket_bytes;
  measured.pids = now.pids.value_or(0);
  measured.pids_limit = now.pids ? totals.pids : 0;
  clients_.send(client, measured);
}

// Only of a sandbox that was taken: one that waits in a pool may still become any project's.
void SandboxRequests::lend_network(Client& client, const wire::LendNetwork& request) {
  SandboxRecord* record = sandboxes_.find(client, request.id);
  if (record == nullptr || !record->announced || record->sandbox.is_waiting() ||
      record->sandbox.is_ending()) {
    return clients_.refuse(client, request.seq,
                           Error(Errc::kNotFound, "there is no sandbox " + request.id.str()));
  }
  const auto sockets = record->sandbox.network_descriptors();
  if (!sockets) return clients_.refuse(client, request.seq, sockets.error());
  clients_.send(client, wire::NetworkLent{request.seq}, *sockets);
}

void SandboxRequests::list(Client& client, std::uint32_t seq) {
  if (!client.caller.is_server) {
    return clients_.refuse(client, seq,
                           Error(Errc::kPolicy, "sessions are handed over to servers only"));
  }
  if (client.sandbox_listing) {
    return clients_.refuse(client, seq,
                           Error(Errc::kConflict, "a list of sessions is already being sent"));
  }
  client.sandbox_listing.emplace(SandboxListing{seq, sandboxes_.adopt_sessions(client)});
  continue_listing(client);
}

void SandboxRequests::continue_listing(Client& client) {
  if (!client.sandbox_listing) return;
  const std::uint32_t seq = client.sandbox_listing->seq;
  std::deque<SandboxId>& left = client.sandbox_listing->left;
  for (; !left.empty(); left.pop_front()) {
    const SandboxRecord* record = sandboxes_.find(client, left.front());
    if (record == nullptr || record->sandbox.is_ending()) continue;  // it has ended meanwhile
    const Sandbox& sandbox = record->sandbox;
    const Sandbox::Session& session = *sandbox.session();
    const wire::SandboxListed listed{seq,
                                     sandbox.id(),
                                     EngineKind::kJail,
                                     session.template_name,
                                     sandbox.limits(),
                                     sandbox.walls(),
                                     session.generation,
                                     session.frozen};
    const int fds[] = {session.server_end.get()};
    if (!clients_.try_send(client, listed, fds)) return;  // continued when it has read some
  }
  if (clients_.try_send(client, wire::Done{seq})) client.sandbox_listing.reset();
}

}  // namespace glovebox::launcher
