#include "dialects/e2b/envd/process_registry.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

#include "base/wall_clock.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"

namespace glovebox::e2b {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxRemembered = 4096;
// A signal that could not be sent, or did not reach anybody yet, is sent again.
constexpr std::chrono::seconds kKillAgain{1};
// How often is looked whether the sandboxes of the server before us are ours.
constexpr std::chrono::milliseconds kAdopted{500};

bool is_meant(const Selector& selector, std::uint32_t pid, std::string_view tag) {
  return selector.pid ? *selector.pid == pid : !tag.empty() && selector.tag == tag;
}

Clock::time_point hub_deadline(const sessions::ProcessLabel& label) {
  if (label.deadline_ms == 0) return Clock::time_point::max();
  // What comes back from a sandbox may be any number.
  constexpr std::int64_t kMost = 366ll * 24 * 3600 * 1000;
  const std::int64_t now = wall_clock_ms();
  const std::int64_t last = std::clamp(label.deadline_ms, now, now + kMost);
  return Clock::now() + std::chrono::milliseconds(last - now);
}

}  // namespace

ProcessRegistry& ProcessRegistry::of(routing::App& app) {
  if (!app.e2b_processes) app.e2b_processes = std::make_shared<ProcessRegistry>(app);
  return *app.e2b_processes;
}

void ProcessRegistry::begin(routing::App& app) { asio::co_spawn(app.io, of(app).take_over(), asio::detached); }

asio::awaitable<void> ProcessRegistry::take_over() {
  const auto self = shared_from_this();
  asio::steady_timer timer(app_.io);
  while (!app_.session_service.adopted()) {
    timer.expires_after(kAdopted);
    co_await timer.async_wait(kAwaitTuple);
  }
  for (const SandboxId& id : app_.session_service.sessions()) {
    if (const auto session = app_.session_service.find_session(id)) look_after(session);
  }
}

std::shared_ptr<Follower> ProcessRegistry::follow(const std::shared_ptr<node::Session>& session,
                                              node::Session::Started started) {
  const sessions::ProcessLabel label = sessions::decode_label(started.info.label);
  const auto made = std::make_shared<ProcessFollowers>(app_.io, session, started.info, label.tag);
  made->set_ours();
  hubs_[{session->id(), made->number()}] = made;
  // First: it may have ended by now, and is forgotten when nobody reads it.
  std::shared_ptr<Follower> follower = made->follow(std::move(started.attachment));
  begin_watch(made, label);
  return follower;
}

std::shared_ptr<ProcessFollowers> ProcessRegistry::hub(const std::shared_ptr<node::Session>& session,
                                             const node::ProcessInfo& process) {
  const Key key{session->id(), process.number};
  if (const auto known = hubs_.find(key); known != hubs_.end()) return known->second;
  const sessions::ProcessLabel label = sessions::decode_label(process.label);
  const auto made = std::make_shared<ProcessFollowers>(app_.io, session, process, label.tag);
  hubs_[key] = made;
  begin_watch(made, label);
  return made;
}

// May run at once, and be over when this returns.
void ProcessRegistry::begin_watch(const std::shared_ptr<ProcessFollowers>& hub, const sessions::ProcessLabel& label) {
  asio::co_spawn(app_.io, watch(hub, hub_deadline(label)), asio::detached);
}

void ProcessRegistry::look_after(const std::shared_ptr<node::Session>& session) {
  for (const node::ProcessInfo& process : session->processes()) {
    if (process.kind != wire::ProcessKind::kProgram || process.ended) continue;
    const sessions::ProcessLabel label = sessions::decode_label(process.label);
    if (label.deadline_ms != 0 || !label.tag.empty()) hub(session, process);
  }
}

asio::awaitable<void> ProcessRegistry::watch(std::shared_ptr<ProcessFollowers> hub, Deadline deadline) {
  const auto self = shared_from_this();
  const std::shared_ptr<node::Session> session = hub->session();
  auto end = co_await session->wait_exit(hub->number(), deadline);
  while (!end && end.error().code() == Errc::kTimeout) {
    hub->set_timed_out();
    hub->hurry();
    (void)session->signal(hub->number(), SIGKILL, true);
    end = co_await session->wait_exit(hub->number(), Clock::now() + kKillAgain);
  }
  if (end) co_await on_exit(hub, *end);
  hubs_.erase({session->id(), hub->number()});
}

asio::awaitable<void> ProcessRegistry::on_exit(std::shared_ptr<ProcessFollowers> hub, wire::ProcessEnd end) {
  remember(*hub, end);
  if (!hub->is_ours()) co_return;
  const std::shared_ptr<node::Session> session = hub->session();
  app_.sessions.note(session->id(), "exit", "status " + std::to_string(sessions::exit_code_of(end)),
                     hub->number());
  if (!hub->timed_out() && co_await app_.ooms.was_killed(session->id(), end)) {
    app_.sessions.note(session->id(), "oom", "the memory limit was reached", hub->number());
  }
  co_await hub->quiet();
  const auto process = session->find_process(hub->number());
  if (process && !process->attached) (void)session->forget(hub->number());
}

void ProcessRegistry::remember(const ProcessFollowers& hub, const wire::ProcessEnd& end) {
  const Clock::time_point now = Clock::now();
  while (!ended_.empty() && (ended_.size() >= kMaxRemembered || ended_.front().until < now)) {
    ended_.pop_front();
  }
  ended_.push_back({hub.session()->id(), hub.tag(), {hub.pid(), end}, now + kRemembered});
}

std::optional<ProcessRegistry::Ended> ProcessRegistry::find_ended(const node::Session& session,
                                                          const Selector& selector) {
  const Clock::time_point now = Clock::now();
  for (auto one = ended_.rbegin(); one != ended_.rend() && one->until >= now; ++one) {
    if (one->sandbox == session.id() && is_meant(selector, one->ended.pid, one->tag)) {
      return one->ended;
    }
  }
  if (!selector.pid) return std::nullopt;
  std::optional<Ended> last;  // this moment, or before this server
  for (const node::ProcessInfo& process : session.processes()) {
    const bool is_it = process.kind == wire::ProcessKind::kProgram && process.pid == selector.pid;
    if (is_it && process.ended) last = {process.pid, *process.ended};
  }
  return last;
}

std::optional<node::ProcessInfo> ProcessRegistry::find_running(const node::Session& session,
                                                           const Selector& selector) const {
  // All of a session are copied for a look at them: so first those that are known.
  for (auto one = hubs_.lower_bound({session.id(), 0});
       one != hubs_.end() && one->first.first == session.id(); ++one) {
    if (!is_meant(selector, one->second->pid(), one->second->tag())) continue;
    auto process = session.find_process(one->second->number());
    if (process && !process->ended) return process;
  }
  if (!selector.pid) return std::nullopt;
  for (node::ProcessInfo& process : session.processes()) {
    const bool is_it = process.kind == wire::ProcessKind::kProgram && process.pid == selector.pid;
    if (is_it && !process.ended) return std::move(process);
  }
  return std::nullopt;
}

void ProcessRegistry::hurry(const node::Session& session, wire::ProcessNumber number) {
  const auto known = hubs_.find({session.id(), number});
  if (known != hubs_.end()) known->second->hurry();
}

}  // namespace glovebox::e2b
