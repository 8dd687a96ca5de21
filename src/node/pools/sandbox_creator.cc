#include "node/pools/sandbox_creator.h"

#include <fcntl.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "base/fd_message.h"
#include "base/frame_link.h"

namespace glovebox::node {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kAfterFull{20};           // until a full launcher is asked again
constexpr milliseconds kOverdue{1000};           // a waiting runtime is there in milliseconds
constexpr milliseconds kWithoutNetwork{60'000};  // until a network is tried again

struct SandboxSockets {
  UniqueFd ours;
  std::vector<UniqueFd> sent;  // the agent's end and, of a session, a copy of ours
};

Result<SandboxSockets> make_sandbox_sockets(bool session, GuestLink link) {
  const bool byte_stream = session && link == GuestLink::kByteStream;
  TRY(auto pair, byte_stream ? byte_stream_pair() : seqpacket_pair());
  SandboxSockets sockets{std::move(pair.ours), {}};
  sockets.sent.push_back(std::move(pair.theirs));
  if (session) {
    // The launcher keeps it for the server after this one.
    UniqueFd copy(::fcntl(sockets.ours.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return fail(Error::from_errno("duplicate a sandbox's socket"));
    sockets.sent.push_back(std::move(copy));
  }
  return sockets;
}

}  // namespace

SandboxCreator::SandboxCreator(boost::asio::io_context& io, LauncherLink& launcher,
                               TemplateTable& templates, const NodeOptions& options)
    : io_(io), launcher_(launcher), templates_(templates), options_(options) {}

void SandboxCreator::launcher_attached() {
  create_not_before_ = {};
  no_network_until_ = {};
}

bool SandboxCreator::may_create() const {
  return !stopped_ && launcher_.up() && !is_busy() && options_.now() >= create_not_before_;
}

void SandboxCreator::create(wire::CreateSandbox request, Charge charge, Done done,
                            std::function<void()> on_overdue, std::unique_ptr<ReuseSlot> reuse) {
  ++creating_;
  auto sockets = make_sandbox_sockets(request.session, options_.session_link);
  const auto creation = std::make_shared<SandboxCreation>(
      SandboxCreation{sockets ? std::move(sockets->ours) : UniqueFd(),
                      std::move(charge),
                      {.warm = request.warm, .waits = request.waits, .made_at = options_.now()},
                      request.template_name,
                      request.network != NetworkStage::kNone,
                      request.session,
                      false,
                      false,
                      std::move(on_overdue),
                      std::move(reuse)});
  creations_.push_back(creation);
  auto finished = [this, gone = gone_, creation,
                   done = std::move(done)](Result<wire::SandboxCreated> created) {
    if (!*gone) finish(creation, std::move(created), done);
  };
  if (!sockets) {
    boost::asio::post(
        io_, [finished = std::move(finished), error = sockets.error()] { finished(fail(error)); });
    return;
  }
  launcher_.create(std::move(request), std::move(sockets->sent), std::move(finished));
}

void SandboxCreator::finish(const CreationPtr& creation, Result<wire::SandboxCreated> created,
                            const Done& done) {
  if (!creation->late) --creating_;
  std::erase(creations_, creation);
  if (!created) {
    made_.error = created.error().message();
    return done(*creation, fail(std::move(created.error())));
  }
  if (creation->make.warm) templates_.runtime_came(creation->template_name);
  full_reason_.clear();
  made_.error.clear();
  (creation->session ? made_.session_walls : made_.run_walls) = created->walls;
  if (creation->network) {
    // Prepared networks are left out where the kernel cannot make them, or had no room for one.
    no_network_until_ =
        created->has_network ? Clock::time_point{} : options_.now() + kWithoutNetwork;
  }
  done(*creation, std::make_unique<Sandbox>(io_, launcher_, *created, std::move(creation->socket),
                                            std::move(creation->charge), creation->make,
                                            std::move(creation->reuse)));
}

bool SandboxCreator::recycle(Sandbox& sandbox, bool hurry, Done done) {
  auto sockets = make_sandbox_sockets(false, options_.session_link);
  if (!sockets) return false;
  const auto shared = std::make_shared<CreationPtr>();
  auto finished = [this, gone = gone_, shared,
                   done = std::move(done)](Result<wire::SandboxCreated> created) {
    if (*gone) return;
    SandboxCreation& creation = **shared;
    if (!created) return done(creation, fail(std::move(created.error())));
    done(creation, std::make_unique<Sandbox>(io_, launcher_, *created, std::move(creation.socket),
                                             std::move(creation.charge), creation.make,
                                             std::move(creation.reuse)));
  };
  Sandbox::HandedOn handed_on =
      sandbox.recycle(hurry, std::move(sockets->sent.front()), std::move(finished));
  *shared = std::make_shared<SandboxCreation>(
      SandboxCreation{.socket = std::move(sockets->ours),
                      .charge = std::move(handed_on.charge),
                      .make = {.warm = true, .waits = true, .made_at = options_.now()},
                      .template_name = {},
                      .reuse = std::move(handed_on.reuse)});
  return true;
}

bool SandboxCreator::keep(Sandbox& sandbox, Done done) {
  if (!ask_what_is_left(sandbox.socket())) return false;
  const auto shared = std::make_shared<CreationPtr>();
  auto finished = [this, gone = gone_, shared,
                   done = std::move(done)](Result<wire::SandboxCreated> created) mutable {
    if (*gone) return;
    const CreationPtr creation = *shared;
    if (!created) return done(*creation, fail(std::move(created.error())));
    being_checked_.push_back(std::make_unique<Sandbox>(
        io_, launcher_, *created, std::move(creation->socket), std::move(creation->charge),
        creation->make, std::move(creation->reuse)));
    boost::asio::co_spawn(io_,
                          finish_keeping(creation, being_checked_.back().get(), std::move(done)),
                          boost::asio::detached);
  };
  UniqueFd socket = sandbox.release_socket();
  Sandbox::HandedOn handed_on = sandbox.keep(std::move(finished));
  *shared = std::make_shared<SandboxCreation>(
      SandboxCreation{.socket = std::move(socket),
                      .charge = std::move(handed_on.charge),
                      .make = {.warm = true, .waits = true, .made_at = options_.now()},
                      .template_name = {},
                      .reuse = std::move(handed_on.reuse)});
  return true;
}

boost::asio::awaitable<void> SandboxCreator::finish_keeping(CreationPtr creation, Sandbox* sandbox,
                                                            Done done) {
  const std::shared_ptr<const bool> gone = gone_;
  Result<> checked = co_await await_nothing_left(io_, sandbox->socket(), gone);
  if (*gone) co_return;
  const auto at = std::find_if(being_checked_.begin(), being_checked_.end(),
                               [sandbox](const auto& one) { return one.get() == sandbox; });
  std::unique_ptr<Sandbox> its_own = std::move(*at);
  being_checked_.erase(at);
  if (checked) {
    done(*creation, std::move(its_own));
  } else {
    its_own.reset();
    done(*creation, fail(std::move(checked.error())));
  }
}

bool SandboxCreator::runtime_was_missing(const SandboxCreation& creation, const Error& error) {
  return creation.make.warm &&
         (error.code() == Errc::kUnavailable || error.code() == Errc::kTimeout);
}

void SandboxCreator::note_refusal(const SandboxCreation& creation, const Error& error) {
  if (runtime_was_missing(creation, error)) {
    templates_.runtime_was_not_ready(creation.template_name);
  } else if (error.code() == Errc::kResourceExhausted) {
    full_reason_ = error.message();
    create_not_before_ = options_.now() + kAfterFull;
  } else if (error.code() == Errc::kUnsupported && creation.network) {
    no_network_until_ = options_.now() + kWithoutNetwork;
  }
}

void SandboxCreator::pass_overdue(Clock::time_point now) {
  const std::vector<CreationPtr> under_way = creations_;
  for (const CreationPtr& creation : under_way) {
    if (!creation->make.warm || now - creation->make.made_at < kOverdue) continue;
    if (!std::exchange(creation->late, true)) --creating_;
    const Clock::time_point sign =
        std::max(creation->make.made_at, templates_.runtime_came_at(creation->template_name));
    if (now - sign < kOverdue || launcher_.last_answer() < creation->make.made_at + kOverdue / 2) {
      continue;
    }
    templates_.runtime_is_stuck(creation->template_name);
    if (std::exchange(creation->overdue, true)) continue;
    if (creation->on_overdue) creation->on_overdue();
  }
}

void SandboxCreator::note_network_demand() {
  network_demand_until_ = options_.now() + options_.prepare_networks_for;
}

bool SandboxCreator::prepares_networks() const {
  return can_give_network() && options_.now() < network_demand_until_;
}

}  // namespace glovebox::node
