#include "supervisor/supervisor.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/fd_message.h"
#include "base/log.h"
#include "engine/launcher_client.h"
#include "supervisor/control_channel.h"
#include "supervisor/private_server_json.h"
#include "supervisor/program_arguments.h"

namespace glovebox::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kConnectInterval = 20ms;  // a launcher that was just started does not listen yet
constexpr auto kLauncherListenTimeout = 30s;
constexpr auto kReconnectInterval = 500ms;  // to a server that closed its channel
constexpr auto kServerStopMargin = 2s;      // beyond the server's own timeout
constexpr auto kStopTimeout = 20s;
constexpr auto kHurriedStopTimeout = 3s;
constexpr auto kKillTimeout = 10s;

std::string own_program() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  return {self, size > 0 ? static_cast<std::size_t>(size) : 0};
}

}  // namespace

Supervisor::Supervisor(config::LoadedSettings config, DataDir data, std::string version)
    : config_(std::move(config)), data_(std::move(data)), version_(std::move(version)) {}

bool Supervisor::adopt() {
  const auto now = Clock::now();
  const auto left = data_.read_serve_info();
  if (auto found = find_listener(data_.launcher_socket())) {
    launcher_.run(std::move(found->process), now);
    launcher_since_ = now;
  }
  if (auto found = find_listener(data_.server_socket())) {
    server_.run(std::move(found->process), now);
    channel_ = std::move(found->socket);
    // The server will report its url again; until then what the predecessor wrote is used, if it is
    // about this process.
    if (left && left->pid == server_.pid()) url_ = left->url;
    // It has a connection to that launcher; if not, it will ask for one.
    is_connected_ = launcher_.is_running();
  }
  if (auto found = find_listener(data_.gateway_socket())) {
    gateway_.adopt(std::move(found->process), now);
  }
  was_ever_up_ = has_greeted_ =
      launcher_.is_running() || server_.is_running() || gateway_.program().is_running();
  if (!was_ever_up_) data_.remove_serve_info();  // left by a dead supervisor
  return was_ever_up_;
}

Result<> Supervisor::run(AfterStart then) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail(Error::from_errno("signalfd"));

  if (then == AfterStart::kStop) begin_stop(Clock::now());
  Result<> outcome;
  while (true) {
    const auto now = Clock::now();
    if (stopping_ == Stopping::kNo) {
      start_due_programs(now);
      connect_launcher_to_server(now);
      if (channel_ && server_.is_running()) gateway_.connect_to_server(channel_.get(), now);
      publish_address();
    } else if (auto stopped = advance_stop(now); !stopped) {
      return stopped;
    }
    if (stopping_ == Stopping::kDone) break;
    if (auto handled = wait_for_events(now); !handled) {
      if (!outcome) return handled;  // the second error, while it stops because of the first
      outcome = std::move(handled);
      begin_stop(Clock::now());
    }
  }
  data_.remove_serve_info();
  return outcome;
}

void Supervisor::start_due_programs(Clock::time_point now) {
  if (launcher_.is_due(now)) start_launcher(now);
  if (server_.is_due(now)) start_server(now);
  if (!url_.empty() && gateway_.program().is_due(now)) {
    gateway_.start(url_, lifeline_ ? std::optional(::getpid()) : std::nullopt, now);
  }
  if (server_.is_running() && !channel_ && now >= next_attempt_) reconnect_to_server(now);
}

void Supervisor::start_launcher(Clock::time_point now) {
  const config::Settings& settings = config_.settings;
  const auto age = std::chrono::duration_cast<std::chrono::seconds>(settings.zygote_max_age);
  StartPlan plan{.program = engine::program_path("glovebox-launcher"),
                 .arguments = {"--listen", data_.launcher_socket(), "--zygote-max-age",
                               std::to_string(age.count()), "--zygote-max-forks",
                               std::to_string(settings.zygote_max_forks)},
                 .environment = environment_of_programs(settings)};
  if (lifeline_) {
    plan.arguments.insert(plan.arguments.end(),
                          {"--mounts-by-path", "--end-with", std::to_string(::getpid()),
                           "--sandboxes", std::to_string(kPrivateSandboxes)});
  }
  auto process = start(plan);
  if (!process) {
    launcher_.start_failed(now);
    return log::warn("the launcher could not be started", {{"error", process.error().message()}});
  }
  launcher_.run(std::move(*process), now);
  launcher_since_ = now;
  is_connected_ = false;
  next_attempt_ = now;
}

void Supervisor::start_server(Clock::time_point now) {
  auto pair = seqpacket_pair();
  if (!pair) {
    server_.start_failed(now);
    return log::warn("the server could not be started", {{"error", pair.error().message()}});
  }
  StartPlan plan{.program = engine::program_path("glovebox-server"),
                 .arguments = {"serve", "--control-fd", "3"},
                 .environment = environment_of_server(config_.settings),
                 .fd3 = pair->theirs.get()};
  for (std::string& argument : config::as_arguments(config_.table)) {
    plan.arguments.push_back(std::move(argument));
  }
  if (lifeline_) {
    plan.arguments.insert(plan.arguments.end(), {"--end-with", std::to_string(::getpid())});
  }
  if (!fixed_listen_.empty()) {
    plan.arguments.emplace_back("--set");
    plan.arguments.push_back("server.listen=" + fixed_listen_);
  }
  auto process = start(plan);
  if (!process) {
    server_.start_failed(now);
    return log::warn("the server could not be started", {{"error", process.error().message()}});
  }
  server_.run(std::move(*process), now);
  channel_ = std::move(pair->ours);
  url_.clear();
  url_is_of_this_channel_ = false;
  is_connected_ = false;
  next_attempt_ = now;
  gateway_.server_started(now);
}

void Supervisor::reconnect_to_server(Clock::time_point now) {
  next_attempt_ = now + kReconnectInterval;
  auto found = find_listener(data_.server_socket());
  if (!found || found->process.pid != server_.pid()) return;
  channel_ = std::move(found->socket);
  url_is_of_this_channel_ = false;
}

void Supervisor::connect_launcher_to_server(Clock::time_point now) {
  if (is_connected_ || !channel_ || !server_.is_running() || !launcher_.is_running()) return;
  if (now < next_attempt_) return;
  next_attempt_ = now + kConnectInterval;
  const auto passed = pass_launcher_connection(data_.launcher_socket(), channel_.get());
  if (passed) {
    is_connected_ = true;
    connected_at_ = now;
    return;
  }
  if (passed.error().code() != Errc::kUnavailable) {
    next_attempt_ = now + kReconnectInterval;
    log::warn("the server could not be given a connection to the launcher",
              {{"error", passed.error().message()}});
  } else if (now - launcher_since_ > kLauncherListenTimeout) {
    log::warn("the launcher does not listen and is killed", {{"error", passed.error().message()}});
    launcher_since_ = now;
    launcher_.signal(SIGKILL);
  }
}

// serve.json appears when everything works, and is kept up to date from then on.
void Supervisor::publish_address() {
  if (url_.empty() || !is_connected_ || !server_.is_running() || !launcher_.is_running()) return;
  const ServeInfo info{.url = url_,
                       .pid = server_.pid(),
                       .launcher_pid = launcher_.pid(),
                       .gateway_pid = gateway_.program().pid(),
                       .supervisor_pid = ::getpid(),
                       .version = version_};
  if (written_ == info) return;
  written_ = info;
  if (auto done = data_.write_serve_info(info); !done) {
    log::warn("serve.json could not be written", {{"error", done.error().message()}});
  }
  was_ever_up_ = true;
  if (lifeline_ && has_greeted_)
    data_.remove_admin_key();  // a restarted server has written it again
  if (!has_greeted_) lifeline_ ? print_private_address() : print_greeting();
  has_greeted_ = true;
}

void Supervisor::print_greeting() const {
  std::fputs(greeting_(url_).c_str(), stdout);
  std::fflush(stdout);
}

void Supervisor::print_private_address() const {
  const auto json = private_server_json(url_, data_.admin_key(), ::getpid());
  if (!json) {
    return log::warn("the private server's address could not be printed",
                     {{"error", json.error().message()}});
  }
  std::printf("%s\n", json->c_str());
  std::fflush(stdout);
  // Its owner has the key now. The file could be in a directory that is mounted for a guest.
  data_.remove_admin_key();
}

Clock::time_point Supervisor::next_deadline(Clock::time_point now) const {
  if (stopping_ != Stopping::kNo) return stop_deadline_;
  auto next = now + 1h;
  if (!launcher_.is_running()) next = std::min(next, launcher_.due());
  if (!server_.is_running()) next = std::min(next, server_.due());
  const bool both = server_.is_running() && launcher_.is_running();
  if (!url_.empty() && !gateway_.program().is_running()) {
    next = std::min(next, gateway_.program().due());
  }
  if (const auto attempt = gateway_.next_attempt(); attempt && channel_) {
    next = std::min(next, *attempt);
  }
  if ((both && !is_connected_) || (server_.is_running() && !channel_)) {
    next = std::min(next, next_attempt_);
  }
  return next;
}

Result<> Supervisor::wait_for_events(Clock::time_point now) {
  // poll() skips negative descriptors.
  pollfd events[] = {{signals_.get(), POLLIN, 0},
                     {launcher_.pidfd(), POLLIN, 0},
                     {server_.pidfd(), POLLIN, 0},
                     {channel_.get(), POLLIN, 0},
                     {stopping_ == Stopping::kNo ? lifeline_.get() : -1, POLLIN, 0},
                     {gateway_.program().pidfd(), POLLIN, 0},
                     {doctor_.pidfd.get(), POLLIN, 0}};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_deadline(now) - now).count();
  const int ready = ::poll(events, std::size(events),
                           static_cast<int>(std::clamp<std::int64_t>(wait, 0, 3'600'000)));
  if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  if (ready <= 0) return {};
  const auto then = Clock::now();
  if (events[0].revents != 0) TRY_OK(handle_signals(then));
  if (events[4].revents != 0) handle_lifeline(then);
  if (events[3].revents != 0) handle_message(then);
  if (events[5].revents != 0) gateway_.ended(then, end_cause());
  if (events[6].revents != 0) {
    (void)reap(doctor_);
    doctor_ = Process();
  }
  if (events[1].revents != 0) TRY_OK(handle_end_of_launcher(then));
  if (events[2].revents != 0) TRY_OK(handle_end_of_server(then));
  return {};
}

Result<> Supervisor::handle_signals(Clock::time_point now) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {  // reload the configuration files
      launcher_.signal(SIGHUP);
      server_.signal(SIGHUP);
      gateway_.program().signal(SIGHUP);
    } else if (stopping_ == Stopping::kNo) {
      begin_stop(now);
    } else {
      shorten_stop(now);
    }
  }
  return {};
}

// What the owner writes is ignored; only the end of file matters.
void Supervisor::handle_lifeline(Clock::time_point now) {
  char ignored[512];
  const ssize_t got = ::read(lifeline_.get(), ignored, sizeof ignored);
  if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return;
  begin_stop(now);
  // The owner has exited, so no client waits for an answer.
  stop_deadline_ = std::min(stop_deadline_, now + kHurriedStopTimeout);
}

void Supervisor::handle_message(Clock::time_point now) {
  const auto message = receive_from_server(channel_.get());
  if (!message || std::holds_alternative<ChannelClosed>(*message)) {
    if (!message) log::warn("the server's channel failed", {{"error", message.error().message()}});
    channel_.reset();
    next_attempt_ = now + kReconnectInterval;
  } else if (std::holds_alternative<NeedsLauncher>(*message)) {
    if (is_connected_) {
      next_attempt_ = now + Backoff::kMin;  // not faster, however often it asks
      launcher_connection_lost(now);
    }
    is_connected_ = false;
  } else if (std::holds_alternative<NeedsGateway>(*message)) {
    gateway_.connection_lost(now);
  } else if (std::holds_alternative<WantsDoctor>(*message)) {
    start_doctor();
  } else if (!url_is_of_this_channel_) {  // later ones are ignored: it has one address
    url_ = std::get<ServerReady>(*message).url;
    url_is_of_this_channel_ = true;
    const std::string& listen = config_.settings.listen;
    const std::string port = port_of(url_);
    if (listen.ends_with(":0") && !port.empty() && fixed_listen_.empty()) {
      fixed_listen_ = listen.substr(0, listen.size() - 1) + port;
    }
  }
}

// If a server loses a live launcher repeatedly and at once, the two are of different versions: one
// of them was started before an upgrade. The launcher is replaced by one of the current version.
void Supervisor::launcher_connection_lost(Clock::time_point now) {
  quick_losses_ = now - connected_at_ < kQuickLoss ? quick_losses_ + 1 : 0;
  if (quick_losses_ < kMaxQuickLosses || !launcher_.is_running()) return;
  log::warn(
      "the server keeps losing the launcher, which is probably of another version and is replaced",
      {{"launcher", std::to_string(launcher_.pid())}});
  quick_losses_ = 0;
  launcher_.signal(SIGTERM);
}

// Examines the host with the rights that the launcher has; the server has none. It gets no
// parameter from the server, and runs once at a time however often the server asks.
void Supervisor::start_doctor() {
  if (doctor_ || stopping_ != Stopping::kNo) return;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    const Error error = Error::from_errno("pipe");
    return log::warn("doctor could not be started", {{"error", error.message()}});
  }
  const UniqueFd reading(ends[0]), writing(ends[1]);
  auto process = start({.program = own_program(),
                        .arguments = {"doctor", "--json"},
                        .environment = environment_of_programs(config_.settings),
                        .output = writing.get()});
  if (!process) {
    return log::warn("doctor could not be started", {{"error", process.error().message()}});
  }
  doctor_ = std::move(*process);
  if (auto passed = pass_doctor_report(reading.get(), channel_.get()); !passed) {
    log::warn("the server could not be given doctor's report",
              {{"error", passed.error().message()}});
  }
}

Result<> Supervisor::handle_end_of_launcher(Clock::time_point now) {
  const ProcessEnding ending = launcher_.end(now, end_cause());
  is_connected_ = false;
  if (stopping_ == Stopping::kNo && !was_ever_up_ && ending.by_itself) {
    return fail(Errc::kUnavailable, "the launcher does not start (see its message above)");
  }
  return {};
}

Result<> Supervisor::handle_end_of_server(Clock::time_point now) {
  const bool had_served = !url_.empty();
  const ProcessEnding ending = server_.end(now, end_cause());
  channel_.reset();
  is_connected_ = false;
  url_.clear();
  url_is_of_this_channel_ = false;
  if (!had_served) fixed_listen_.clear();  // that port may be the reason
  if (stopping_ == Stopping::kNo && !was_ever_up_ && ending.by_itself) {
    return fail(Errc::kUnavailable, "the server does not start (see its message above)");
  }
  return {};
}

void Supervisor::begin_stop(Clock::time_point now) {
  log::info("stopping");
  stopping_ = Stopping::kServer;
  has_killed_ = false;
  // The server first: it needs the launcher to finish what is running.
  stop_deadline_ = now + config_.settings.stop_timeout + kServerStopMargin;
  server_.signal(SIGTERM);
}

// After a second signal. The launcher still gets a moment: no other program removes its mounts and
// cgroups before the next start.
void Supervisor::shorten_stop(Clock::time_point now) {
  stop_deadline_ =
      stopping_ == Stopping::kServer ? now : std::min(stop_deadline_, now + kHurriedStopTimeout);
}

SupervisedProgram& Supervisor::stopping_program() {
  if (stopping_ == Stopping::kServer) return server_;
  return stopping_ == Stopping::kLauncher ? launcher_ : gateway_.program();
}

Result<> Supervisor::advance_stop(Clock::time_point now) {
  SupervisedProgram& program = stopping_program();
  if (!program.is_running()) {
    has_killed_ = false;
    if (stopping_ == Stopping::kGateway) {
      stopping_ = Stopping::kDone;
      return {};
    }
    stopping_ = stopping_ == Stopping::kServer ? Stopping::kLauncher : Stopping::kGateway;
    stop_deadline_ = now + kStopTimeout;
    stopping_program().signal(SIGTERM);
    return stopping_program().is_running() ? Result<>() : advance_stop(now);
  }
  if (now < stop_deadline_) return {};
  if (has_killed_) return fail(Errc::kTimeout, program.name() + " could not be stopped");
  log::warn("a program did not stop in time and is killed", {{"program", program.name()}});
  program.signal(SIGKILL);
  has_killed_ = true;
  stop_deadline_ = now + kKillTimeout;
  return {};
}

}  // namespace glovebox::supervisor
