#include "node/sessions/session_host.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <utility>

#include "base/log.h"
#include "node/async/pending_reply.h"
#include "node/links/launcher_error.h"
#include "node/sandboxes/check_grade.h"

namespace glovebox::node {
namespace {

SandboxRequest session_sandbox_request(const SessionSpec& spec) {
  SandboxRequest request;
  request.key = {spec.template_name, spec.engine};
  request.limits = spec.limits;
  request.mounts = spec.mounts;
  request.cold = true;
  request.pooled = false;
  request.session = true;
  request.owner = spec.owner;
  request.project = spec.project;
  request.network = !spec.net.is_none();
  request.layer = spec.layer;
  request.make_layer = spec.make_layer;
  return request;
}

}  // namespace

// The adoption of one launcher's sessions.
struct SessionHost::Adoption {
  std::uint64_t number = 0;
  std::vector<std::pair<LivePtr, bool>> found;  // and whether it is frozen
  std::size_t left = 0;                         // to be ready
};

void SessionHost::disconnect() {
  stopped_ = true;
  ++adoptions_;
  for (auto& [id, known] : std::exchange(known_, {})) {
    if (known.hidden) known.session->destroy(false, "the server is stopping");
    known.session->disconnect("the server is stopping");
  }
}

SessionHost::LivePtr SessionHost::add(std::unique_ptr<Sandbox> sandbox, std::string template_name) {
  auto session =
      std::make_shared<LiveSession>(io_, options_, std::move(sandbox), std::move(template_name));
  session->on_ended([this](const SessionEnded& what) { ended(what); });
  known_.emplace(session->id(), Known{session, false});
  return session;
}

void SessionHost::announce(const LivePtr& session, Shown shown) {
  const auto at = known_.find(session->id());
  if (at == known_.end()) return;
  at->second.announced = true;
  at->second.hidden = shown == Shown::kNo;
}

void SessionHost::ended(const SessionEnded& what) {
  const auto at = known_.find(what.id);
  if (at == known_.end()) return;
  const bool is_told = at->second.announced && !at->second.hidden;
  const LivePtr session = std::move(at->second.session);
  known_.erase(at);
  networks_.close(what.id, {});
  log::info("session ended", {{"sandbox", what.id.str()}, {"why", what.why}});
  if (is_told && on_ended_) on_ended_(what);
}

Task<std::shared_ptr<Session>> SessionHost::create_session(SessionSpec spec,
                                                           std::shared_ptr<CancelFlag> cancel) {
  const std::shared_ptr<void> held = hold_();
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  if (!spec.net.is_none()) CO_TRY_OK(co_await networks_.wait_for_gateway());
  SandboxRequest request = session_sandbox_request(spec);
  CO_TRY(std::unique_ptr<Sandbox> sandbox, co_await allocator_.acquire(std::move(request), cancel));
  if (!sandbox) co_return fail(Errc::kUnavailable, "the request was cancelled");
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  CO_TRY_OK(check_grade(spec.engine, sandbox->walls(), spec.min_grade));
  if (spec.must_pause && !can_pause(sandbox->walls())) {
    co_return fail(Errc::kUnsupported,
                   "sandboxes cannot be paused on this host, so this one could not be paused at "
                   "the end of its time to live: Glovebox has no cgroup in which it may freeze "
                   "processes (`glovebox doctor` says how to get one)");
  }
  const LivePtr session = add(std::move(sandbox), spec.template_name);
  Result<> ready = co_await session->handshake(LiveSession::Origin::kCreated);
  if (ready && !spec.net.is_none()) {
    if (spec.is_build) {
      ready = co_await networks_.open_for_build(session->id(), spec.project, spec.net);
    } else {
      ready = co_await networks_.set_network(session->id(), spec.project, spec.net);
    }
  }
  if (ready && !(cancel && cancel->cancelled())) {
    announce(session, spec.is_build ? Shown::kNo : Shown::kYes);
    co_return session;
  }
  session->destroy(false, ready ? "its creation was cancelled" : ready.error().message());
  if (!ready) co_return fail(std::move(ready.error()).context("create a session"));
  co_return fail(Errc::kUnavailable, "the request was cancelled");
}

Result<SessionHost::LivePtr> SessionHost::find(const SandboxId& id) const {
  const auto at = known_.find(id);
  if (at == known_.end() || !at->second.announced) {
    return fail(Errc::kNotFound, "there is no such sandbox here");
  }
  return at->second.session;
}

std::shared_ptr<Session> SessionHost::find_session(const SandboxId& id) const {
  const Result<LivePtr> session = find(id);
  return session ? *session : nullptr;
}

std::vector<SandboxId> SessionHost::sessions() const {
  std::vector<SandboxId> ids;
  for (const auto& [id, known] : known_) {
    if (known.announced && !known.hidden) ids.push_back(id);
  }
  return ids;
}

Task<> SessionHost::destroy_session(SandboxId id) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY(const LivePtr session, find(id));
  session->destroy(true, {});
  const Clock::time_point deadline = Clock::now() + options_.create_wait;
  while (!session->ended() && !stopped_ && Clock::now() < deadline) {
    co_await session->notifier().wait(deadline);
  }
  if (session->ended()) co_return Result<>();
  if (stopped_) co_return fail(Errc::kUnavailable, "the server is stopping");
  co_return fail(launcher_error("the launcher did not end the sandbox in time"));
}

Task<> SessionHost::freeze(LivePtr session, bool frozen) {
  const auto answer = std::make_shared<PendingReply<void>>(io_);
  allocator_.launcher().freeze(session->id(), frozen,
                               [answer](Result<> done) { answer->set(std::move(done)); });
  const Clock::time_point deadline = Clock::now() + options_.create_wait;
  CO_TRY_OK(co_await PendingReply<void>::wait(answer, deadline));
  session->set_paused(frozen);
  co_return Result<>();
}

Task<> SessionHost::pause_session(SandboxId id) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY(const LivePtr session, find(id));
  if (session->paused()) co_return Result<>();
  co_return co_await freeze(session, true);
}

Task<> SessionHost::resume_session(SandboxId id) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY(const LivePtr session, find(id));
  if (session->paused()) CO_TRY_OK(co_await freeze(session, false));
  if (session->is_ready() || !session->alive()) co_return Result<>();
  // It was frozen when it was adopted, and has not seen our Hello.
  Result<> ready = co_await session->handshake(LiveSession::Origin::kAdopted);
  if (!ready) session->destroy(false, ready.error().message());
  co_return ready;
}

Task<SessionUsage> SessionHost::measure_session(SandboxId id) {
  const std::shared_ptr<void> held = hold_();
  CO_TRY(const LivePtr session, find(id));
  const auto answer = std::make_shared<PendingReply<wire::SandboxMeasured>>(io_);
  allocator_.launcher().measure(session->id(), [answer](Result<wire::SandboxMeasured> measured) {
    answer->set(std::move(measured));
  });
  const Clock::time_point deadline = Clock::now() + options_.create_wait;
  CO_TRY(const wire::SandboxMeasured now,
         co_await PendingReply<wire::SandboxMeasured>::wait(answer, deadline));
  SessionUsage usage{.cpu_us = now.cpu_us,
                     .memory_bytes = now.memory_bytes,
                     .peak_memory_bytes = now.peak_memory_bytes,
                     .processes = now.processes,
                     .disk_bytes = now.disk_bytes,
                     .disk_limit_bytes = now.disk_limit_bytes,
                     .oom_kills = now.oom_kills,
                     .socket_bytes = now.socket_bytes};
  co_return usage;
}

// ---- adoption --------------------------------------------------------------------------------

void SessionHost::adopt() {
  if (stopped_) return;
  adopted_ = false;
  const auto adoption = std::make_shared<Adoption>();
  adoption->number = ++adoptions_;
  const std::weak_ptr<void> held = hold_();
  allocator_.launcher().list(
      [this, held, adoption](wire::SandboxListed one, UniqueFd socket) {
        if (!held.expired()) listed(std::move(one), std::move(socket), *adoption);
      },
      [this, held, adoption](Result<> done) {
        if (held.expired() || adoption->number != adoptions_) return;
        if (!done) log::warn("no sessions were adopted", {{"error", done.error().message()}});
        adoption->left = adoption->found.size() + 1;
        for (auto& [session, frozen] : adoption->found) {
          session->set_paused(frozen);
          if (frozen) {
            announce(session, Shown::kYes);  // its handshake follows when it is resumed
            one_taken_over(*adoption);
            continue;
          }
          boost::asio::co_spawn(io_, take_over(session, adoption), boost::asio::detached);
        }
        one_taken_over(*adoption);
      });
}

void SessionHost::listed(wire::SandboxListed listed, UniqueFd socket, Adoption& adoption) {
  if (stopped_) return;
  const wire::SandboxCreated created{0, listed.id, listed.walls, listed.generation, false};
  const Sandbox::Make make{.warm = false, .waits = false, .made_at = options_.now()};
  auto sandbox = std::make_unique<Sandbox>(io_, allocator_.launcher(), created, std::move(socket),
                                           allocator_.charge_for_adopted(listed.limits), make);
  adoption.found.emplace_back(add(std::move(sandbox), std::move(listed.template_name)),
                              listed.frozen);
}

boost::asio::awaitable<void> SessionHost::take_over(LivePtr session,
                                                    std::shared_ptr<Adoption> adoption) {
  const std::shared_ptr<void> held = hold_();
  const Result<> ready = co_await session->handshake(LiveSession::Origin::kAdopted);
  if (ready) {
    announce(session, Shown::kYes);
  } else if (!stopped_) {
    log::warn("could not adopt a session",
              {{"sandbox", session->id().str()}, {"error", ready.error().message()}});
    session->destroy(false, ready.error().message());
  }
  one_taken_over(*adoption);
}

void SessionHost::one_taken_over(Adoption& adoption) {
  if (--adoption.left > 0 || adoption.number != adoptions_ || stopped_) return;
  adopted_ = true;
  log::info("sessions adopted", {{"sessions", std::to_string(adoption.found.size())}});
  adoption.found.clear();
  if (on_adopted_) on_adopted_();
}

}  // namespace glovebox::node
