#include "launcher/server/event_loop.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace glovebox::launcher {
namespace {

constexpr std::size_t kSignalsAt = 0;
constexpr std::size_t kListenerAt = 1;
constexpr std::size_t kClientsAt = 2;
constexpr std::chrono::seconds kPeriod{1};
// The server of an owner that exited closes its connection, which wakes us; this is the fallback.
constexpr std::chrono::seconds kOwnerCheckInterval{10};
constexpr std::chrono::seconds kStopTimeout{10};
constexpr int kStopPollMs = 200;
// Jails in the making at once; more would only wait for each other.
constexpr std::size_t kMaxUnderWay = 3;

sigset_t handled_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

}  // namespace

void EventLoop::block_signals() {
  const sigset_t signals = handled_signals();
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

Result<> EventLoop::run() {
  block_signals();
  ::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = handled_signals();
  signals_ = UniqueFd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  JailMaker& jails = parts_.maker.jails();
  if (!parts_.clients.is_private()) {
    packages_.emplace();
    parts_.maker.layer_store().sweep();
  }
  while (true) {
    if (!stopping_ && parts_.clients.owner_has_exited()) stop();
    if (stopping_) {
      parts_.clients.drop_all();
      parts_.sandboxes.kill_all();
    }
    parts_.sandboxes.finish_dead();
    parts_.sandboxes.clean_up_some();
    parts_.clients.remove_gone();
    if (stopping_) jails.drop_spare();
    if (is_finished()) {
      finish();
      return {};
    }
    parts_.template_requests.report_changes();

    PollSet set = poll_set();
    TRY_OK(wait(set));
    handle_sandboxes(set);
    parts_.layer_requests.advance();
    handle_signal(set);
    handle_clients(set);
    if (may_create_ && jails.under_way() < kMaxUnderWay) parts_.dispatcher.create_next();
  }
}

void EventLoop::stop() {
  if (!stopping_) stop_deadline_ = Clock::now() + kStopTimeout;
  stopping_ = true;
}

bool EventLoop::is_finished() const {
  // Whatever is left after the deadline dies with its nursery.
  if (stopping_ && Clock::now() > stop_deadline_) {
    log::warn("the launcher stops, although some sandboxes have not ended in time");
    return true;
  }
  if (!parts_.sandboxes.empty()) return false;
  return stopping_ || (parts_.clients.is_private() && parts_.clients.all().empty());
}

void EventLoop::finish() {
  do_idle_work();
  parts_.sandboxes.clean_up_all();
  parts_.layer_requests.shut_down();
}

bool EventLoop::has_idle_work() const {
  return parts_.when_idle || parts_.maker.jails().can_drop_files();
}

void EventLoop::do_idle_work() {
  if (parts_.when_idle) std::exchange(parts_.when_idle, nullptr)();
  if (parts_.maker.jails().can_drop_files()) parts_.maker.jails().drop_files();
}

EventLoop::PollSet EventLoop::poll_set() const {
  PollSet set;
  std::vector<pollfd>& events = set.events;
  events.push_back({signals_.get(), POLLIN, 0});
  events.push_back({stopping_ ? -1 : parts_.clients.listener_fd(), POLLIN, 0});
  for (const Client& client : parts_.clients.all()) {
    const bool has_more = client.sandbox_listing || client.layer_listing || client.is_blocked ||
                          !client.changed_templates.empty();
    const int wanted =
        (RequestDispatcher::may_read(client) ? POLLIN : 0) | (has_more ? POLLOUT : 0);
    events.push_back({wanted == 0 ? -1 : client.socket.get(), static_cast<short>(wanted), 0});
  }
  set.sandboxes = events.size();
  events.push_back({parts_.sandboxes.watch_fd(), POLLIN, 0});
  parts_.sandboxes.add_events(events);
  set.jails = events.size();
  parts_.maker.jails().add_events(events);
  parts_.layer_requests.add_events(events);
  return set;
}

Result<> EventLoop::wait(PollSet& set) {
  JailMaker& jails = parts_.maker.jails();
  may_create_ =
      parts_.dispatcher.has_pending_creates() && !stopping_ && jails.under_way() < kMaxUnderWay;
  const bool spare = wants_spare();
  const bool idle_work = has_idle_work();
  const int timeout = may_create_ || idle_work ? 0
                      : stopping_              ? kStopPollMs
                      : spare                  ? spare_timeout_ms()
                                               : timeout_ms();
  const int ready = ::poll(set.events.data(), set.events.size(), timeout);
  if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  if (ready == 0 && !may_create_) {  // the launcher is idle
    if (spare) jails.make_spare();
    if (idle_work) do_idle_work();
  }
  return {};
}

bool EventLoop::wants_spare() const {
  return !parts_.clients.is_private() && !stopping_ && parts_.maker.jails().wants_spare();
}

// At once without sandboxes; else when the clients seem to be busy for longer.
int EventLoop::spare_timeout_ms() const {
  constexpr int kLongerMs = 5;
  if (!parts_.sandboxes.has_sandboxes()) return 0;
  const int most = timeout_ms();
  return most < 0 ? kLongerMs : std::min(most, kLongerMs);
}

int EventLoop::timeout_ms() const {
  const Clock::time_point now = Clock::now();
  JailMaker& jails = parts_.maker.jails();
  Clock::time_point next = Clock::time_point::max();
  for (const std::optional<Clock::time_point>& at :
       {parts_.sandboxes.next_check(now), jails.next_deadline(), jails.zygote_cleanup().next_due(),
        jails.nurseries().next_check(), jails.next_idle_mount(),
        parts_.layer_requests.next_check()}) {
    if (at) next = std::min(next, *at);
  }
  if (parts_.clients.owner() != 0) next = std::min(next, now + kOwnerCheckInterval);
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - now).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 60'000));
}

void EventLoop::handle_sandboxes(const PollSet& set) {
  const Clock::time_point now = Clock::now();
  JailMaker& jails = parts_.maker.jails();
  parts_.sandboxes.check_limits(now);
  parts_.sandboxes.share_memory(now);
  if (set.events[set.sandboxes].revents != 0) parts_.sandboxes.on_events();
  parts_.sandboxes.sessions().advance(now);
  parts_.sandboxes.check_joining();
  // The sandboxes of a dead broker died with it and are finished in the next round; the next
  // request starts a new broker.
  const bool jail_event =
      std::any_of(set.events.begin() + static_cast<std::ptrdiff_t>(set.jails), set.events.end(),
                  [](const pollfd& event) { return event.revents != 0; });
  const bool periodic = now >= next_periodic_;
  if (jail_event || periodic) jails.nurseries().on_events();
  jails.advance();
  jails.zygote_cleanup().clean_up(now);
  jails.drop_idle_mounts(now);
  parts_.sandboxes.take_made();
  if (periodic) handle_periodic(now);
}

void EventLoop::handle_periodic(Clock::time_point now) {
  check_host_packages();
  parts_.maker.tidy_templates(parts_.sandboxes.templates_in_use());
  parts_.layer_requests.tidy(now);
  next_periodic_ = now + kPeriod;
}

// The kernel leaves it undefined what an overlay shows whose lower files change, as they do in a
// package upgrade. Once it is over, nothing that was made from the old files is handed out.
void EventLoop::check_host_packages() {
  if (!packages_ || !packages_->have_changed()) return;
  log::warn("the host's packages have changed; zygotes and waiting sandboxes are replaced");
  parts_.maker.host_files_changed();
}

void EventLoop::handle_signal(const PollSet& set) {
  if ((set.events[kSignalsAt].revents & POLLIN) == 0) return;
  signalfd_siginfo signal{};
  const bool read = ::read(signals_.get(), &signal, sizeof signal) > 0;
  if (read && signal.ssi_signo == SIGHUP && !parts_.clients.is_private()) {
    parts_.maker.reload_templates();
  } else {
    stop();
  }
}

void EventLoop::handle_clients(const PollSet& set) {
  if ((set.events[kListenerAt].revents & POLLIN) != 0) parts_.clients.accept();
  // The set has the clients in the list's order; one that was accepted just now is behind them.
  const auto for_each_polled = [&](const auto& handle) {
    std::size_t at = kClientsAt;
    for (Client& client : parts_.clients.all()) {
      if (at >= set.sandboxes) return;
      handle(client, set.events[at++].revents);
    }
  };
  // Clients that hung up come first: another client may ask in this round for what was theirs.
  for_each_polled([&](Client& client, short happened) {
    if ((happened & (POLLHUP | POLLERR)) != 0) parts_.dispatcher.serve_all(client);
  });
  for_each_polled([&](Client& client, short happened) {
    if (client.gone) return;
    const bool writable = (happened & POLLOUT) != 0;
    if (writable) {
      parts_.sandbox_requests.continue_listing(client);
      parts_.layer_requests.continue_listing(client);
      parts_.template_requests.continue_reporting(client);
    }
    const bool was_blocked = writable && std::exchange(client.is_blocked, false);
    if ((happened & POLLIN) != 0 || was_blocked) parts_.dispatcher.serve_some(client);
  });
}

}  // namespace glovebox::launcher
