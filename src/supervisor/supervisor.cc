#include "supervisor/supervisor.h"

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
#include "supervisor/part.h"
#include "supervisor/private_words.h"
#include "supervisor/program_words.h"

namespace glovebox::supervisor {
namespace {

using namespace std::chrono_literals;

constexpr auto kBetweenLauncherTries =
    20ms;                               // a launcher that was just started does not listen yet
constexpr auto kLauncherMayTake = 30s;  // until it listens
constexpr auto kBetweenServerReconnects = 500ms;  // to a server that closed its channel
constexpr auto kAfterTheServersOwnLimit = 2s;
constexpr auto kLauncherMayStop = 20s;
constexpr auto kInAHurry = 3s;
constexpr auto kAfterKill = 10s;  // for the kernel to take it away

}  // namespace

Supervisor::Supervisor(config::Loaded config, DataDir data, std::string version)
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
    // It says so again itself; until then the predecessor's word counts, if it is about this one.
    if (left && left->pid == server_.pid()) url_ = left->url;
    // Its own connection to that launcher lives. If it does not, it will say that it needs one.
    is_introduced_ = launcher_.is_running();
  }
  if (auto found = find_listener(data_.gateway_socket())) {
    adopt_gateway(std::move(found->process), now);
  }
  was_ever_up_ = has_greeted_ =
      launcher_.is_running() || server_.is_running() || gateway_.is_running();
  if (!was_ever_up_) data_.remove_serve_info();  // a dead one's
  return was_ever_up_;
}

Result<> Supervisor::run(Then then) {
  sigset_t wanted;
  ::sigemptyset(&wanted);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&wanted, number);
  ::sigprocmask(SIG_BLOCK, &wanted, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return fail(Error::from_errno("signalfd"));

  if (then == Then::kStop) begin_stop(Clock::now());
  Result<> outcome;
  while (true) {
    const auto now = Clock::now();
    if (stopping_ == Stopping::kNo) {
      start_what_is_due(now);
      introduce(now);
      introduce_the_gateway(now);
      tell_where_we_are();
    } else if (auto stopped = advance_stop(now); !stopped) {
      return stopped;
    }
    if (stopping_ == Stopping::kDone) break;
    if (auto handled = wait_for_something(now); !handled) {
      if (!outcome) return handled;  // while it stops because of the first
      outcome = std::move(handled);
      begin_stop(Clock::now());
    }
  }
  data_.remove_serve_info();
  return outcome;
}

void Supervisor::start_what_is_due(Clock::time_point now) {
  if (launcher_.is_due(now)) start_launcher(now);
  if (server_.is_due(now)) start_server(now);
  if (!url_.empty() && gateway_.is_due(now)) start_gateway(now);
  if (server_.is_running() && !channel_ && now >= next_try_) reconnect_to_server(now);
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
    launcher_.failed(now);
    return log::warn("cannot start the launcher", {{"error", process.error().message()}});
  }
  launcher_.run(std::move(*process), now);
  launcher_since_ = now;
  is_introduced_ = false;
  next_try_ = now;
}

void Supervisor::start_server(Clock::time_point now) {
  auto pair = seqpacket_pair();
  if (!pair) {
    server_.failed(now);
    return log::warn("cannot start the server", {{"error", pair.error().message()}});
  }
  StartPlan plan{.program = engine::program_path("glovebox-server"),
                 .arguments = {"serve", "--control-fd", "3"},
                 .environment = environment_of_server(config_.settings),
                 .fd3 = pair->theirs.get()};
  for (std::string& word : config::as_arguments(config_.table)) {
    plan.arguments.push_back(std::move(word));
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
    server_.failed(now);
    return log::warn("cannot start the server", {{"error", process.error().message()}});
  }
  server_.run(std::move(*process), now);
  channel_ = std::move(pair->ours);
  url_.clear();
  url_is_this_channels_ = false;
  is_introduced_ = false;
  gateway_is_introduced_ = false;
  next_try_ = next_gateway_try_ = now;
}

void Supervisor::reconnect_to_server(Clock::time_point now) {
  next_try_ = now + kBetweenServerReconnects;
  auto found = find_listener(data_.server_socket());
  if (!found || found->process.pid != server_.pid()) return;
  channel_ = std::move(found->socket);
  url_is_this_channels_ = false;
}

void Supervisor::introduce(Clock::time_point now) {
  if (is_introduced_ || !channel_ || !server_.is_running() || !launcher_.is_running()) return;
  if (now < next_try_) return;
  next_try_ = now + kBetweenLauncherTries;
  const auto introduced = introduce_launcher(data_.launcher_socket(), channel_.get());
  if (introduced) {
    is_introduced_ = true;
    introduced_at_ = now;
    return;
  }
  if (introduced.error().code() != Errc::kUnavailable) {
    next_try_ = now + kBetweenServerReconnects;
    log::warn("cannot hand the launcher to the server", {{"error", introduced.error().message()}});
  } else if (now - launcher_since_ > kLauncherMayTake) {
    log::warn("the launcher does not listen", {{"error", introduced.error().message()}});
    launcher_since_ = now;
    launcher_.signal(SIGKILL);
  }
}

// serve.json appears when everything works, and is right from then on.
void Supervisor::tell_where_we_are() {
  if (url_.empty() || !is_introduced_ || !server_.is_running() || !launcher_.is_running()) return;
  const ServeInfo info{.url = url_,
                       .pid = server_.pid(),
                       .launcher_pid = launcher_.pid(),
                       .gateway_pid = gateway_.pid(),
                       .supervisor_pid = ::getpid(),
                       .version = version_};
  if (written_ == info) return;
  written_ = info;
  if (auto done = data_.write_serve_info(info); !done) {
    log::warn("cannot write serve.json", {{"error", done.error().message()}});
  }
  was_ever_up_ = true;
  if (lifeline_ && has_greeted_)
    data_.remove_admin_key();  // one that was started again has made another
  if (!has_greeted_) lifeline_ ? tell_owner() : greet();
  has_greeted_ = true;
}

void Supervisor::greet() const {
  const std::string key = data_.admin_key();
  const bool usual = std::any_of(config_.table.begin(), config_.table.end(), [](const auto& entry) {
    return entry.key->name == "server.data_dir" && entry.origin == "default";
  });
  const std::string prefix = usual ? "" : "GLOVEBOX_DATA_DIR=" + data_.path() + " ";
  std::printf(
      "Glovebox serves at %s\n"
      "The admin key is in %s\n"
      "\n"
      "Try, in another terminal:\n"
      "  %sglovebox run --server -c 'print(1+1)'\n"
      "  curl -H \"X-API-Key: $(cat %s)\" -H 'Content-Type: application/json' \\\n"
      "       -d '{\"language\":\"python\",\"code\":\"1+1\"}' %s/v1/run\n"
      "\n"
      "For clients of E2B (docs/api/e2b.md):\n"
      "  export E2B_API_KEY=$(%sglovebox key show --e2b)\n"
      "  export E2B_API_URL=%s\n"
      "  export E2B_SANDBOX_URL=%s\n"
      "\n"
      "Ctrl-C stops it.\n",
      url_.c_str(), key.c_str(), prefix.c_str(), key.c_str(), url_.c_str(), prefix.c_str(),
      url_.c_str(), url_.c_str());
  std::fflush(stdout);
}

void Supervisor::tell_owner() const {
  const auto words = private_words(url_, data_.admin_key(), ::getpid());
  if (!words) return log::warn("cannot say where we are", {{"error", words.error().message()}});
  std::printf("%s\n", words->c_str());
  std::fflush(stdout);
  // Its owner has it now. A file could be in a directory that he mounts for a guest.
  data_.remove_admin_key();
}

Clock::time_point Supervisor::next_deadline(Clock::time_point now) const {
  if (stopping_ != Stopping::kNo) return stop_deadline_;
  auto next = now + 1h;
  if (!launcher_.is_running()) next = std::min(next, launcher_.due());
  if (!server_.is_running()) next = std::min(next, server_.due());
  const bool both = server_.is_running() && launcher_.is_running();
  if (!url_.empty() && !gateway_.is_running()) next = std::min(next, gateway_.due());
  if (gateway_.is_running() && channel_ && !gateway_is_introduced_) {
    next = std::min(next, next_gateway_try_);
  }
  if ((both && !is_introduced_) || (server_.is_running() && !channel_)) {
    next = std::min(next, next_try_);
  }
  return next;
}

Result<> Supervisor::wait_for_something(Clock::time_point now) {
  // A negative descriptor is skipped by poll().
  pollfd events[] = {{signals_.get(), POLLIN, 0},
                     {launcher_.pidfd(), POLLIN, 0},
                     {server_.pidfd(), POLLIN, 0},
                     {channel_.get(), POLLIN, 0},
                     {stopping_ == Stopping::kNo ? lifeline_.get() : -1, POLLIN, 0},
                     {gateway_.pidfd(), POLLIN, 0}};
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next_deadline(now) - now).count();
  const int ready = ::poll(events, std::size(events),
                           static_cast<int>(std::clamp<std::int64_t>(wait, 0, 3'600'000)));
  if (ready < 0 && errno != EINTR) return fail(Error::from_errno("poll"));
  if (ready <= 0) return {};
  const auto then = Clock::now();
  if (events[0].revents != 0) TRY_OK(handle_signals(then));
  if (events[4].revents != 0) handle_lifeline(then);
  if (events[3].revents != 0) handle_message(then);
  if (events[5].revents != 0) handle_end_of_gateway(then);
  if (events[1].revents != 0) TRY_OK(handle_end_of_launcher(then));
  if (events[2].revents != 0) TRY_OK(handle_end_of_server(then));
  return {};
}

Result<> Supervisor::handle_signals(Clock::time_point now) {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGHUP) {  // read your files again
      launcher_.signal(SIGHUP);
      server_.signal(SIGHUP);
      gateway_.signal(SIGHUP);
    } else if (stopping_ == Stopping::kNo) {
      begin_stop(now);
    } else {
      hurry_stop(now);
    }
  }
  return {};
}

// What its owner writes is not looked at; that there is no more to come is what counts.
void Supervisor::handle_lifeline(Clock::time_point now) {
  char ignored[512];
  const ssize_t got = ::read(lifeline_.get(), ignored, sizeof ignored);
  if (got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN))) return;
  begin_stop(now);
  // Nobody is left to wait for an answer.
  stop_deadline_ = std::min(stop_deadline_, now + kInAHurry);
}

void Supervisor::handle_message(Clock::time_point now) {
  const auto message = receive_from_server(channel_.get());
  if (!message || std::holds_alternative<ChannelClosed>(*message)) {
    if (!message) log::warn("the server's channel", {{"error", message.error().message()}});
    channel_.reset();
    next_try_ = now + kBetweenServerReconnects;
  } else if (std::holds_alternative<NeedsLauncher>(*message)) {
    if (is_introduced_) {
      next_try_ = now + Backoff::kLeast;  // not faster, however often it asks
      note_parting(now);
    }
    is_introduced_ = false;
  } else if (std::holds_alternative<NeedsGateway>(*message)) {
    note_need_of_gateway(now);
  } else if (!url_is_this_channels_) {  // later ones are not looked at: it has one address
    url_ = std::get<ServerReady>(*message).url;
    url_is_this_channels_ = true;
    const std::string& listen = config_.settings.listen;
    const std::string port = port_of(url_);
    if (listen.ends_with(":0") && !port.empty() && fixed_listen_.empty()) {
      fixed_listen_ = listen.substr(0, listen.size() - 1) + port;
    }
  }
}

// A launcher that lives and a server that loses it again and again at once are of different
// versions: one of them was there before an upgrade. The one that we start from now on is the
// server's.
void Supervisor::note_parting(Clock::time_point now) {
  quick_partings_ = now - introduced_at_ < kTooSoonToPart ? quick_partings_ + 1 : 0;
  if (quick_partings_ < kMostQuickPartings || !launcher_.is_running()) return;
  log::warn("launcher and server do not understand each other; the launcher is replaced",
            {{"launcher", std::to_string(launcher_.pid())}});
  quick_partings_ = 0;
  launcher_.signal(SIGTERM);
}

Result<> Supervisor::handle_end_of_launcher(Clock::time_point now) {
  const Ending ending = launcher_.end(now, why_ended());
  is_introduced_ = false;
  if (stopping_ == Stopping::kNo && !was_ever_up_ && ending.by_itself) {
    return fail(Errc::kUnavailable, "the launcher does not start (its own message is above)");
  }
  return {};
}

Result<> Supervisor::handle_end_of_server(Clock::time_point now) {
  const bool had_served = !url_.empty();
  const Ending ending = server_.end(now, why_ended());
  channel_.reset();
  is_introduced_ = false;
  url_.clear();
  url_is_this_channels_ = false;
  if (!had_served) fixed_listen_.clear();  // perhaps it is that port that it cannot have
  if (stopping_ == Stopping::kNo && !was_ever_up_ && ending.by_itself) {
    return fail(Errc::kUnavailable, "the server does not start (its own message is above)");
  }
  return {};
}

void Supervisor::begin_stop(Clock::time_point now) {
  log::info("stopping");
  stopping_ = Stopping::kServer;
  has_killed_ = false;
  // The server first: it finishes what runs, and for that it needs the launcher.
  stop_deadline_ = now + config_.settings.stop_timeout + kAfterTheServersOwnLimit;
  server_.signal(SIGTERM);
}

// The second signal. The launcher still gets a moment: what it has mounted and made, nobody else
// takes away before the next start.
void Supervisor::hurry_stop(Clock::time_point now) {
  stop_deadline_ = stopping_ == Stopping::kServer ? now : std::min(stop_deadline_, now + kInAHurry);
}

Part& Supervisor::stopping_part() {
  if (stopping_ == Stopping::kServer) return server_;
  return stopping_ == Stopping::kLauncher ? launcher_ : gateway_;
}

Result<> Supervisor::advance_stop(Clock::time_point now) {
  Part& part = stopping_part();
  if (!part.is_running()) {
    has_killed_ = false;
    if (stopping_ == Stopping::kGateway) {
      stopping_ = Stopping::kDone;
      return {};
    }
    stopping_ = stopping_ == Stopping::kServer ? Stopping::kLauncher : Stopping::kGateway;
    stop_deadline_ = now + kLauncherMayStop;
    stopping_part().signal(SIGTERM);
    return stopping_part().is_running() ? Result<>() : advance_stop(now);
  }
  if (now < stop_deadline_) return {};
  if (has_killed_) return fail(Errc::kTimeout, part.name() + " cannot be ended");
  log::warn("killed", {{"program", part.name()}});
  part.signal(SIGKILL);
  has_killed_ = true;
  stop_deadline_ = now + kAfterKill;
  return {};
}

}  // namespace glovebox::supervisor
