#include "node/session.h"

#include <sys/random.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "node/session_errors.h"

namespace glovebox::node {
namespace {

// What may be on its way to a reader that left, beside its window: a byte for each frame.
constexpr std::uint64_t kFramesUnderWay = 16 * 1024;
constexpr std::uint64_t kMostUnderWay = 64u << 20;
// The launcher tells why a sandbox has ended; if it does not, we end it.
constexpr std::chrono::milliseconds kEndTold{2000};

std::uint64_t new_epoch() {
  std::uint64_t epoch = 0;
  while (epoch == 0) {
    GBX_ASSERT(::getrandom(&epoch, sizeof epoch, 0) == static_cast<ssize_t>(sizeof epoch));
  }
  return epoch;
}

Error broke(const char* how) { return Error(Errc::kProtocol, how); }

}  // namespace

LiveSession::LiveSession(Place place, std::unique_ptr<Sandbox> sandbox, std::string template_name)
    : place_(place),
      id_(sandbox->id()),
      walls_(sandbox->walls()),
      template_name_(std::move(template_name)),
      sandbox_(std::move(sandbox)),
      link_(place.io, *this, sandbox_->release_socket()),
      requests_(place.io),
      bell_(place.io),
      end_timer_(place.io) {
  sandbox_->outlive();
  sandbox_->on_end([this] { sandbox_changed(); });
}

LiveSession::~LiveSession() {
  if (sandbox_) sandbox_->on_end({});
}

Task<> LiveSession::greet(Made made) {
  const auto self = shared_from_this();
  if (made == Made::kBefore) next_process_ = wall_clock_ms();  // above any number used so far
  epoch_ = new_epoch();
  greeting_.emplace();
  const wire::ServerFrame hello = wire::Hello{epoch_};
  link_.begin();
  link_.send(hello);
  if (sandbox_ && (sandbox_->ended() || sandbox_->lost())) sandbox_changed();
  const Clock::time_point deadline = until(place_.options.agent_wait);
  while (!greeted_ && !over_ && Clock::now() < deadline) co_await bell_.wait(deadline);
  if (over_) co_return fail(over_error());
  if (!greeted_) co_return fail(Errc::kUnavailable, "the sandbox's agent does not answer");
  co_return Result<>();
}

void LiveSession::destroy(bool was_asked, std::string why) {
  if (ended_ || !sandbox_) return;
  was_asked_ = was_asked_ || was_asked;
  if (why_.empty()) why_ = std::move(why);
  end_callers(was_asked ? "the sandbox was ended" : why_);
  link_.close();
  sandbox_->begin_destroy();
}

void LiveSession::let_go(const std::string& why) {
  end_callers(why);
  link_.close();
  end_timer_.cancel();
  on_ended_ = {};
  if (sandbox_) sandbox_->on_end({});
  sandbox_.reset();
  bell_.ring();
}

void LiveSession::end_callers(const std::string& why) {
  if (over_) return;
  over_ = why;
  for (auto& [number, process] : processes_) {
    process->grace.cancel();
    if (process->reader) process->reader->go(why);
    process->reader.reset();
    process->changed.ring();
  }
  requests_.end_all(over_error());
  bell_.ring();
}

Error LiveSession::over_error() const {
  return Error(Errc::kUnavailable, over_.value_or("the sandbox has ended"));
}

// The sandbox calls, so it must not go in here.
void LiveSession::sandbox_changed() {
  boost::asio::post(place_.io, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->report_end();
  });
}

void LiveSession::report_end() {
  if (ended_ || !sandbox_) return;
  ended_ = true;
  SessionEnded ended{id_, EndReason::kDestroyed, {}, sandbox_->lost(), was_asked_, why_};
  if (sandbox_->ended()) {
    ended.reason = sandbox_->ended()->reason;
    ended.usage = sandbox_->ended()->usage;
  }
  end_callers(ended.launcher_lost ? "the launcher was lost, and the sandbox with it"
                                  : "the sandbox has ended");
  link_.close();
  end_timer_.cancel();
  sandbox_.reset();  // its room is free before anybody is told
  bell_.ring();
  const Ended call = std::exchange(on_ended_, {});
  if (call) call(ended);
}

void LiveSession::send(const wire::ServerFrame& frame) {
  if (!over_) link_.send(frame);
}

// ---- what the sandbox says -------------------------------------------------------------------

void LiveSession::on_link_over(Error why) {
  const auto self = shared_from_this();
  if (why.code() == Errc::kProtocol) {
    log::warn("a session's agent broke the protocol",
              {{"sandbox", id_.str()}, {"error", why.message()}});
    return destroy(false, "the sandbox's agent broke the protocol: " + why.message());
  }
  end_callers("the sandbox has ended");
  end_timer_.expires_after(kEndTold);
  end_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto there = weak.lock();
    if (!error && there) there->destroy(false, "the sandbox's agent closed its socket");
  });
}

void LiveSession::on_room() {
  // Whoever waits to write into a process.
  for (auto& [number, process] : processes_) process->changed.ring();
}

Result<> LiveSession::on_frame(wire::SessionFrame frame, UniqueFd fd) {
  const auto self = shared_from_this();
  if (greeting_) {
    // Until it has heard us, what it says is for the server before us.
    if (auto* is = std::get_if<wire::ProcessIs>(&frame)) return on(*is);
    if (auto* welcome = std::get_if<wire::Welcome>(&frame)) return on(*welcome);
    return {};
  }
  if (auto* output = std::get_if<wire::Output>(&frame)) return on(*output);
  if (auto* started = std::get_if<wire::ProcessStarted>(&frame)) return on(*started);
  if (auto* refused = std::get_if<wire::StartRefused>(&frame)) return on(*refused);
  if (auto* taken = std::get_if<wire::InputTaken>(&frame)) return on(*taken);
  if (auto* exited = std::get_if<wire::ProcessExited>(&frame)) return on(*exited);
  if (auto* opened = std::get_if<wire::FileOpened>(&frame)) {
    return requests_.on(std::move(*opened), std::move(fd));
  }
  if (auto* done = std::get_if<wire::FileDone>(&frame)) return requests_.on(std::move(*done));
  if (auto* port = std::get_if<wire::PortConnected>(&frame)) {
    return requests_.on(std::move(fd), port->request);
  }
  if (auto* refused = std::get_if<wire::PortRefused>(&frame)) return requests_.on(*refused);
  return fail(broke("it greets nobody"));
}

Result<> LiveSession::on(wire::ProcessIs& is) {
  if (is.process == 0) return fail(broke("a process without a number"));
  const wire::ProcessNumber number = is.process;
  greeting_->insert_or_assign(number, std::move(is));
  if (greeting_->size() > kMaxProcesses) return fail(broke("too many processes"));
  return {};
}

Result<> LiveSession::on(wire::Welcome& welcome) {
  if (welcome.epoch != epoch_) {
    greeting_->clear();  // said to the server before us
    return {};
  }
  take_over(*std::exchange(greeting_, std::nullopt));
  greeted_ = true;
  bell_.ring();
  return {};
}

void LiveSession::take_over(std::map<wire::ProcessNumber, wire::ProcessIs> found) {
  for (auto& [number, is] : found) {
    const auto process = std::make_shared<Process>(place_.io);
    process->info = {.number = number,
                     .kind = is.kind,
                     .pid = is.pid,
                     .label = std::move(is.label),
                     .warm = is.warm,
                     .terminal = is.terminal,
                     .started_ms = is.started_ms,
                     .out = is.out,
                     .err = is.err,
                     .results = is.results,
                     .ended = is.ended};
    process->lossy = is.lossy;
    process->stdin_state.sent = process->stdin_state.taken = is.input_taken;
    process->requests_state.sent = process->requests_state.taken = is.requests_taken;
    processes_.emplace(number, process);
    if (number != UINT64_MAX) next_process_ = std::max(next_process_, number + 1);
    begin_grace(process);
  }
}

// Null: it is forgotten, and what comes of it was under way.
Result<LiveSession::ProcessPtr> LiveSession::told_of(wire::ProcessNumber number) const {
  const auto at = processes_.find(number);
  if (at != processes_.end()) return at->second;
  if (number == 0 || number >= next_process_) return fail(broke("a process that nobody started"));
  return nullptr;
}

Result<> LiveSession::on(wire::ProcessStarted& started) {
  TRY(const ProcessPtr process, told_of(started.process));
  if (!process) return {};
  if (!process->starting) return fail(broke("a process started twice"));
  process->starting = false;
  process->info.pid = started.pid;
  process->info.warm = started.warm;
  if (process->unwanted) send(wire::SignalProcess{started.process, SIGKILL, true});
  process->changed.ring();
  return {};
}

Result<> LiveSession::on(wire::StartRefused& refused) {
  TRY(const ProcessPtr process, told_of(refused.process));
  if (!process) return {};
  if (!process->starting) return fail(broke("a process that runs was refused"));
  process->starting = false;
  process->refused = guest_error(refused.sys_errno, refused.step);
  process->changed.ring();
  processes_.erase(refused.process);
  return {};
}

Result<> LiveSession::on(wire::Output& output) {
  TRY(const ProcessPtr process, told_of(output.process));
  const bool wanted = process && process->reader &&
                      process->reader->inbox.wants(output.stream, output.subscription);
  if (!wanted) {
    // As much as may have been under way when we let go of it, and no more. Empty ones count too.
    const std::uint64_t size = output.bytes.size() + 1;
    if (size > under_way_) return fail(broke("output that nobody asked for"));
    under_way_ -= size;
    return {};
  }
  wire::StreamState& state = process->state(output.stream);
  state.end = std::max(state.end, output.offset + output.bytes.size());
  if (state.begin > state.end) state.begin = state.end;
  const std::shared_ptr<Reader> reader = process->reader;
  TRY_OK(reader->inbox.take(std::move(output)));
  reader->bell.ring();
  return {};
}

Result<> LiveSession::on(wire::InputTaken& taken) {
  TRY(const ProcessPtr process, told_of(taken.process));
  if (!process) return {};
  InputState* input = process->input(taken.stream);
  if (input == nullptr) return fail(broke("it took from a stream that is not there"));
  if (taken.offset > input->sent) return fail(broke("it took more than it was sent"));
  // Less than before: what it had taken for the server before us.
  input->taken = std::max(input->taken, taken.offset);
  if (taken.closed) input->closed = true;
  process->changed.ring();
  return {};
}

Result<> LiveSession::on(wire::ProcessExited& exited) {
  TRY(const ProcessPtr process, told_of(exited.process));
  if (!process) return {};
  if (process->info.ended) return fail(broke("a process ended twice"));
  process->starting = false;
  process->info.ended = exited.end;
  process->info.out = exited.out;
  process->info.err = exited.err;
  process->info.results = exited.results;
  process->grace.cancel();
  process->changed.ring();
  if (process->reader) {
    process->reader->inbox.exited(exited.end, exited.out, exited.err, exited.results);
    process->reader->bell.ring();
  }
  if (process->unwanted) (void)forget(exited.process);
  return {};
}

void LiveSession::acknowledge(const std::vector<wire::Acknowledge>& told) {
  for (const wire::Acknowledge& one : told) send(one);
}

void LiveSession::detach(const ProcessPtr& process, const std::shared_ptr<Reader>& reader) {
  if (over_ || process->reader != reader) return;
  process->reader.reset();
  process->info.attached = false;
  for (const wire::Stream stream : kOutputStreams) {
    if (!process->has(stream)) continue;
    under_way_ = std::min(under_way_ + wire::kWindow + kFramesUnderWay, kMostUnderWay);
    if (!process->forgotten) send(wire::Unsubscribe{process->info.number, stream});
  }
  begin_grace(process);
}

// Whoever comes back in time misses nothing; a reader that has vanished does not stop the guest for
// ever.
void LiveSession::begin_grace(const ProcessPtr& process) {
  if (process->lossy || process->lossy_by_us || process->info.ended || process->reader) return;
  process->grace.expires_after(place_.options.detach_grace);
  process->grace.async_wait(
      [weak = weak_from_this(), process](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (error || !self || self->over_ || process->reader || process->info.ended) return;
        process->lossy_by_us = true;
        self->send(wire::SetLossy{process->info.number, true});
      });
}

}  // namespace glovebox::node
