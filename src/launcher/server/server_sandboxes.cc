// What the launcher's loop does with sandboxes: has them made, hands them out, ends them.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>

#include "base/fd_message.h"
#include "base/log.h"
#include "launcher/server/server_loop.h"
#include "wire/sandbox_plan.h"

namespace glovebox::launcher {

void Server::create(Client& client, const wire::CreateSandbox& request, std::vector<UniqueFd> fds) {
  if (done_ || sandboxes_.size() + expected_.size() >= max_sandboxes_) {
    return refuse(client, request.seq,
                  Error(Errc::kResourceExhausted, "the launcher has no room for another sandbox"));
  }
  if (!maker_.may_use(request.template_name, &client)) {
    return refuse(client, request.seq,
                  Error(Errc::kNotFound, "there is no template '" + request.template_name + "'"));
  }
  const Expected expected{&client,       request.seq,  request.limits, request.template_name,
                          request.waits, request.layer};
  const std::uint64_t ticket = next_ticket_++;
  expected_.emplace(ticket, expected);
  const bool hurry = !client.creates.empty() || maker_.jails().under_way() > 0;
  auto sandbox = maker_.make(request, std::move(fds), client.caller, &client, ticket, hurry);
  if (sandbox && !*sandbox) return take_made();  // begun; perhaps there was a spare
  expected_.erase(ticket);
  if (!sandbox) return refuse(client, request.seq, sandbox.error());
  own(std::move(**sandbox), expected);
}

void Server::refuse(Client& client, std::uint32_t seq, const Error& error) {
  say(client, wire::SandboxRefused{seq, error.code(), error.sys_errno(), error.message()});
}

// What has become of the jails that were begun.
void Server::take_made() {
  for (JailMaker::Made& made : maker_.jails().take_made()) {
    const auto found = expected_.find(made.ticket);
    const Expected expected = found->second;
    expected_.erase(found);
    if (made.sandbox) {
      own(std::move(*made.sandbox), expected);
    } else if (expected.client != nullptr) {
      refuse(*expected.client, expected.seq, made.sandbox.error());
    }
  }
}

void Server::own(Sandbox sandbox, const Expected& expected) {
  std::string id = sandbox.id().str();
  const bool session = sandbox.session() != nullptr;
  Owned& owned =
      sandboxes_
          .try_emplace(std::move(id),
                       Owned{std::move(sandbox), expected.client, expected.seq, expected.limits,
                             expected.template_name, expected.waits, false, expected.layer})
          .first->second;
  if (!session) runs_.push_back(&owned);
  if (auto watched = watch_.add(owned); !watched) {
    log::warn("a sandbox cannot be watched", {{"error", watched.error().message()}});
    give_up_joining(owned, "it cannot be watched");
    dead_.push_back(&owned);
    return;
  }
  if (owned.client == nullptr) return owned.sandbox.kill(EndReason::kDestroyed);
  if (!owned.sandbox.joining) announce(owned);
}

// The sandbox is all that was asked for.
void Server::announce(Owned& owned) {
  if (owned.client == nullptr) return;
  if (!owned.waits && owned.sandbox.is_waiting()) {
    const auto limits = maker_.checked_limits(owned.limits);
    const Result<> taken = limits ? owned.sandbox.take(*limits) : Result<>(fail(limits.error()));
    if (!taken) return give_up_joining(owned, taken.error().message());
  }
  owned.announced = true;
  const std::uint32_t generation = maker_.jails().broods().generation_of(owned.template_name);
  say(*owned.client, wire::SandboxCreated{owned.seq, owned.sandbox.id(), owned.sandbox.walls(),
                                          generation, owned.sandbox.has_network()});
}

void Server::on_joining(Owned& owned) {
  Broods& broods = maker_.jails().broods();
  const Sandbox::Joining joining = *owned.sandbox.joining;
  pollfd event{owned.sandbox.setup_fd(), POLLIN, 0};
  if (::poll(&event, 1, 0) != 1) {
    if (Clock::now() < joining.deadline) return;
    broods.gave_up_waiting(joining.template_name, joining.zygote_uid);
    return give_up_joining(owned, "the runtime does not arrive");
  }
  auto received = receive_message(owned.sandbox.setup_fd(), wire::kMaxPlanMessage, 0);
  auto message = received && !received->bytes.empty()
                     ? wire::decode_plan_message(received->bytes)
                     : Result<wire::PlanMessage>(fail(Errc::kUnavailable, "its agent is gone"));
  broods.joined(joining.template_name, joining.zygote_uid);
  if (message && std::holds_alternative<wire::RuntimeReady>(*message)) {
    owned.sandbox.joining.reset();
    return announce(owned);
  }
  const auto* failed = message ? std::get_if<wire::SandboxFailed>(&*message) : nullptr;
  give_up_joining(owned, failed != nullptr ? failed->step : "the runtime did not become ready");
}

// Nothing comes of it; the client may ask for a cold one.
void Server::give_up_joining(Owned& owned, const std::string& why) {
  // Where it is not wanted any more, or its template is not, that is how it ends.
  const bool is_wanted = owned.client != nullptr && !owned.sandbox.is_ending() &&
                         maker_.jails().broods().find(owned.template_name) != nullptr;
  if (is_wanted) log::warn("a sandbox was not finished", {{"why", why}});
  owned.sandbox.joining.reset();
  if (owned.client != nullptr) {
    say(*owned.client, wire::SandboxRefused{owned.seq, Errc::kUnavailable, 0, why});
  }
  owned.client = nullptr;
  owned.sandbox.kill(EndReason::kDestroyed);
}

Owned* Server::find(const Client& client, const SandboxId& id) {
  const auto found = sandboxes_.find(id.str());
  // Another client's sandbox is not there for this one.
  const bool its_own = found != sandboxes_.end() && found->second.client == &client;
  return its_own ? &found->second : nullptr;
}

Owned* Server::find_session(Client& client, const SandboxId& id, std::uint32_t seq) {
  Owned* owned = find(client, id);
  const bool there = owned != nullptr && owned->announced && owned->sandbox.session() != nullptr &&
                     !owned->sandbox.is_ending();
  if (!there) refuse(client, seq, Error(Errc::kNotFound, "there is no such session"));
  return there ? owned : nullptr;
}

void Server::freeze(Client& client, const wire::FreezeSandbox& request) {
  if (Owned* owned = find_session(client, request.id, request.seq)) {
    sessions_.freeze(client, *owned, request);
  }
}

void Server::measure(Client& client, const wire::MeasureSandbox& request) {
  if (const Owned* owned = find_session(client, request.id, request.seq)) {
    say(client, sessions_.measure(*owned, request.seq));
  }
}

// Taken or not begun to wait: a sandbox in a pool is nobody's yet.
void Server::lend(Client& client, const wire::LendNetwork& request) {
  Owned* owned = find(client, request.id);
  if (owned == nullptr || !owned->announced || owned->sandbox.is_waiting() ||
      owned->sandbox.is_ending()) {
    return refuse(client, request.seq, Error(Errc::kNotFound, "there is no such sandbox"));
  }
  const auto lent = owned->sandbox.lend_network();
  if (!lent) return refuse(client, request.seq, lent.error());
  const wire::NetworkLent reply{request.seq};
  if (!send_message(client.socket.get(), wire::encode(wire::LauncherReply(reply)), *lent)) {
    drop(client);
  }
}

// All become this client's at once; it is told of them as it takes it.
void Server::list(Client& client, std::uint32_t seq) {
  if (!client.caller.is_server) {
    return refuse(client, seq, Error(Errc::kPolicy, "sessions are handed over to servers only"));
  }
  if (client.listing) return refuse(client, seq, Error(Errc::kConflict, "one list at a time"));
  client.listing.emplace(Listing{seq, {}});
  for (auto& [id, owned] : sandboxes_) {
    const bool free = owned.client == nullptr && owned.announced &&
                      owned.sandbox.session() != nullptr && !owned.sandbox.is_ending();
    if (!free) continue;
    owned.client = &client;
    client.listing->left.push_back(owned.sandbox.id());
  }
  go_on_listing(client);
}

void Server::go_on_listing(Client& client) {
  if (!client.listing) return;
  std::deque<SandboxId>& left = client.listing->left;
  for (; !left.empty(); left.pop_front()) {
    const Owned* owned = find(client, left.front());
    if (owned == nullptr || owned->sandbox.is_ending()) continue;  // it has ended meanwhile
    const Sandbox& sandbox = owned->sandbox;
    const Sandbox::Session& session = *sandbox.session();
    const wire::SandboxListed listed{client.listing->seq,   sandbox.id(),     EngineKind::kJail,
                                     session.template_name, sandbox.limits(), sandbox.walls(),
                                     session.generation,    session.frozen};
    const int fds[] = {session.server_end.get()};
    const auto sent =
        send_message(client.socket.get(), wire::encode(wire::LauncherReply(listed)), fds);
    if (!sent && sent.error().sys_errno() == EAGAIN) return;  // when it has read some
    if (!sent) return drop(client);
  }
  const wire::Done done{client.listing->seq};
  const auto sent = send_message(client.socket.get(), wire::encode(wire::LauncherReply(done)));
  if (!sent && sent.error().sys_errno() == EAGAIN) return;
  client.listing.reset();
  if (!sent) drop(client);
}

void Server::take(Client& client, const wire::TakeSandbox& request) {
  Owned* owned = find(client, request.id);
  if (owned == nullptr || !owned->announced || !owned->sandbox.is_waiting()) {
    return say(client, wire::SandboxRefused{0, Errc::kNotFound, 0, "no such sandbox waits"});
  }
  const auto limits = maker_.checked_limits(request.limits);
  const Result<> taken =
      limits ? owned->sandbox.take(*limits, request.network_up) : Result<>(fail(limits.error()));
  if (taken) return;
  const Error& error = taken.error();
  owned->client = nullptr;
  say(client, wire::SandboxRefused{0, error.code(), error.sys_errno(), error.message()});
  say(client, wire::SandboxEnded{request.id, EndReason::kDestroyed, {}});
  owned->sandbox.kill(EndReason::kDestroyed);
}

void Server::destroy(Client& client, const SandboxId& id) {
  Owned* owned = find(client, id);
  if (owned == nullptr) {
    return say(client, wire::SandboxRefused{0, Errc::kNotFound, 0, "there is no such sandbox"});
  }
  // What it has used is known now; it dies and is cleaned up behind the answer.
  // Its own reason if it had one already: a limit was reached before the client let go.
  const EndReason reason =
      owned->sandbox.is_ending() ? owned->sandbox.end_reason() : EndReason::kDestroyed;
  owned->client = nullptr;
  // First the answer: a process that is killed runs to its end before us if it has our CPU.
  say(client, wire::SandboxEnded{id, reason, owned->sandbox.usage()});
  owned->sandbox.kill(EndReason::kDestroyed);
  if (is_private()) maker_.jails().broods().kill_plain_nursery();
}

void Server::drop(Client& client) {
  client.gone = true;
  client.socket.reset();
  client.creates.clear();
  client.listing.reset();
  client.layer_listing.reset();
  sessions_.forget(client);
  maker_.client_gone(&client);
  forget_layers_of(client);
  for (auto& [ticket, expected] : expected_) {
    if (expected.client == &client) expected.client = nullptr;
  }
  for (auto& [id, owned] : sandboxes_) {
    if (owned.client != &client) continue;
    owned.client = nullptr;
    // A session waits for the next server, if this one knew of it. One with a layer is a step of
    // something that nobody goes on with.
    if (owned.sandbox.session() != nullptr && owned.announced && owned.layer.empty()) continue;
    owned.sandbox.kill(EndReason::kDestroyed);
  }
}

void Server::end_all() {
  for (Client& client : clients_) drop(client);
  for (auto& [id, owned] : sandboxes_) owned.sandbox.kill(EndReason::kDestroyed);
}

void Server::hear_of_sandboxes() {
  SandboxWatch::News news = watch_.take();
  for (Owned* owned : news.talking) sessions_.on_talk(*owned);
  dead_.insert(dead_.end(), news.dead.begin(), news.dead.end());
}

void Server::finish_dead() {
  for (Owned* owned : std::exchange(dead_, {})) finish(*owned);
}

void Server::finish(Owned& owned) {
  watch_.remove(owned);
  sessions_.forget(owned);
  const Usage usage = owned.sandbox.finish();
  const wire::SandboxEnded ended{owned.sandbox.id(), owned.sandbox.end_reason(), usage};
  const bool announced = owned.announced;
  const std::uint32_t seq = owned.seq;
  Client* client = owned.client;
  if (const auto& joining = owned.sandbox.joining) {
    maker_.jails().broods().joined(joining->template_name, joining->zygote_uid);
  }
  if (owned.sandbox.is_empty()) maker_.release(owned.sandbox);
  // A private launcher has nothing else to do.
  if (is_private() && owned.sandbox.is_empty()) (void)owned.sandbox.clean_up();
  if (!owned.sandbox.is_clean()) graves_.add(std::move(owned.sandbox));
  std::erase(runs_, &owned);
  sandboxes_.erase(ended.id.str());
  if (is_private() && sandboxes_.empty()) {
    // We stay until the client goes: closing on a message of its that we have not read would take
    // our answer from it.
    maker_.shut_down();
    done_ = true;
  }
  if (client == nullptr) return;
  if (announced) {
    say(*client, ended);
  } else {
    say(*client, wire::SandboxRefused{seq, Errc::kUnavailable, 0, "it died before it was ready"});
  }
}

}  // namespace glovebox::launcher
