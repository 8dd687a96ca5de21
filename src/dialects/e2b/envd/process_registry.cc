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
// A SIGKILL that could not be sent, or has not ended the process, is sent again.
constexpr std::chrono::seconds kKillAgain{1};
// How often is checked whether the sandboxes of the server before this one were adopted.
constexpr std::chrono::milliseconds kAdoptionCheckInterval{500};

bool is_selected(const ProcessSelector& selector, std::uint32_t pid, std::string_view tag) {
  return selector.pid ? *selector.pid == pid : !tag.empty() && selector.tag == tag;
}

Clock::time_point label_deadline(const sessions::ProcessLabel& label) {
  if (label.deadline_ms == 0) return Clock::time_point::max();
  // A label comes back from the sandbox, which may put any number there.
  constexpr std::int64_t kLongest = 366ll * 24 * 3600 * 1000;
  const std::int64_t now = wall_clock_ms();
  const std::int64_t last = std::clamp(label.deadline_ms, now, now + kLongest);
  return Clock::now() + std::chrono::milliseconds(last - now);
}

}  // namespace

void ProcessRegistry::start() { asio::co_spawn(deps_.io, take_over(), asio::detached); }

asio::awaitable<void> ProcessRegistry::take_over() {
  const auto self = shared_from_this();
  asio::steady_timer timer(deps_.io);
  while (!deps_.session_service.adopted()) {
    timer.expires_after(kAdoptionCheckInterval);
    co_await timer.async_wait(kAwaitTuple);
  }
  for (const SandboxId& id : deps_.session_service.sessions()) {
    if (const auto session = deps_.session_service.find_session(id)) supervise_all(session);
  }
}

std::shared_ptr<Follower> ProcessRegistry::follow(const std::shared_ptr<node::Session>& session,
                                                  node::Session::Started started) {
  const sessions::ProcessLabel label = sessions::decode_label(started.info.label);
  const auto made = std::make_shared<ProcessFollowers>(deps_.io, session, started.info, label.tag);
  made->set_e2b_process();
  processes_[{session->id(), made->number()}] = made;
  // First: the process may have ended already, and is forgotten when it is not read.
  std::shared_ptr<Follower> follower = made->follow(std::move(started.attachment));
  start_supervision(made, label);
  return follower;
}

std::shared_ptr<ProcessFollowers> ProcessRegistry::followers_of(
    const std::shared_ptr<node::Session>& session, const node::ProcessInfo& process) {
  const Key key{session->id(), process.number};
  if (const auto known = processes_.find(key); known != processes_.end()) return known->second;
  const sessions::ProcessLabel label = sessions::decode_label(process.label);
  const auto made = std::make_shared<ProcessFollowers>(deps_.io, session, process, label.tag);
  processes_[key] = made;
  start_supervision(made, label);
  return made;
}

// The process may have ended when this returns.
void ProcessRegistry::start_supervision(const std::shared_ptr<ProcessFollowers>& process,
                                        const sessions::ProcessLabel& label) {
  asio::co_spawn(deps_.io, supervise(process, label_deadline(label)), asio::detached);
}

void ProcessRegistry::supervise_all(const std::shared_ptr<node::Session>& session) {
  for (const node::ProcessInfo& process : session->processes()) {
    if (process.kind != wire::ProcessKind::kProgram || process.ended) continue;
    const sessions::ProcessLabel label = sessions::decode_label(process.label);
    if (label.deadline_ms != 0 || !label.tag.empty()) followers_of(session, process);
  }
}

asio::awaitable<void> ProcessRegistry::supervise(std::shared_ptr<ProcessFollowers> process,
                                                 Deadline deadline) {
  const auto self = shared_from_this();
  const std::shared_ptr<node::Session> session = process->session();
  auto end = co_await session->wait_exit(process->number(), deadline);
  while (!end && end.error().code() == Errc::kTimeout) {
    process->set_timed_out();
    process->drop_slow_followers();
    (void)session->signal(process->number(), SIGKILL, true);
    end = co_await session->wait_exit(process->number(), Clock::now() + kKillAgain);
  }
  if (end) co_await on_exit(process, *end);
  processes_.erase({session->id(), process->number()});
}

asio::awaitable<void> ProcessRegistry::on_exit(std::shared_ptr<ProcessFollowers> process,
                                               wire::ProcessEnd end) {
  remember(*process, end);
  if (!process->is_e2b_process()) co_return;
  const std::shared_ptr<node::Session> session = process->session();
  deps_.sessions.note(session->id(), "exit",
                      "status " + std::to_string(sessions::exit_code_of(end)), process->number());
  if (co_await deps_.oom_kills.was_killed(session->id(), process->number(), end)) {
    deps_.sessions.note(session->id(), "oom", "the memory limit was reached", process->number());
  }
  co_await process->wait_until_unread();
  const auto info = session->find_process(process->number());
  if (info && !info->attached) (void)session->forget(process->number());
}

void ProcessRegistry::remember(const ProcessFollowers& process, const wire::ProcessEnd& end) {
  const Clock::time_point now = Clock::now();
  while (!ended_.empty() && (ended_.size() >= kMaxRemembered || ended_.front().until < now)) {
    ended_.pop_front();
  }
  ended_.push_back(
      {process.session()->id(), process.tag(), {process.pid(), end}, now + kRemembered});
}

std::optional<ProcessRegistry::Ended> ProcessRegistry::find_ended(const node::Session& session,
                                                                  const ProcessSelector& selector) {
  const Clock::time_point now = Clock::now();
  for (auto one = ended_.rbegin(); one != ended_.rend() && one->until >= now; ++one) {
    if (one->sandbox == session.id() && is_selected(selector, one->ended.pid, one->tag)) {
      return one->ended;
    }
  }
  if (!selector.pid) return std::nullopt;
  std::optional<Ended> last;  // just now, or before this server started
  for (const node::ProcessInfo& process : session.processes()) {
    const bool is_match =
        process.kind == wire::ProcessKind::kProgram && process.pid == selector.pid;
    if (is_match && process.ended) last = {process.pid, *process.ended};
  }
  return last;
}

std::optional<node::ProcessInfo> ProcessRegistry::find_running(
    const node::Session& session, const ProcessSelector& selector) const {
  // Known ones first: Session::processes() copies all of them.
  for (auto one = processes_.lower_bound({session.id(), 0});
       one != processes_.end() && one->first.first == session.id(); ++one) {
    if (!is_selected(selector, one->second->pid(), one->second->tag())) continue;
    auto process = session.find_process(one->second->number());
    if (process && !process->ended) return process;
  }
  if (!selector.pid) return std::nullopt;
  for (node::ProcessInfo& process : session.processes()) {
    const bool is_match =
        process.kind == wire::ProcessKind::kProgram && process.pid == selector.pid;
    if (is_match && !process.ended) return std::move(process);
  }
  return std::nullopt;
}

void ProcessRegistry::drop_slow_followers(const node::Session& session,
                                          wire::ProcessNumber number) {
  const auto known = processes_.find({session.id(), number});
  if (known != processes_.end()) known->second->drop_slow_followers();
}

}  // namespace glovebox::e2b
