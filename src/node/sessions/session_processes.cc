#include "node/sessions/session_processes.h"

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/wall_clock.h"
#include "node/sessions/guest_error.h"
#include "node/sessions/process_attachment.h"

namespace glovebox::node {
namespace {

// Whether the process reads what it was sent is mostly known within this time.
constexpr std::chrono::milliseconds kTakenSoon{200};
// What may be on its way to a reader that left, beside its window: a byte for each frame.
constexpr std::uint64_t kFramesUnderWay = 16 * 1024;
constexpr std::uint64_t kMaxUnderWay = 64u << 20;

// The agent drops a frame that it cannot parse without an answer, so it is parsed here first.
Result<> check_start_frame(const wire::ServerFrame& frame) {
  const std::vector<std::byte> bytes = wire::encode(frame);
  if (bytes.size() > wire::kMaxSessionFrame) {
    return fail(Errc::kInvalidArgument, "arguments and environment are too long");
  }
  if (!wire::decode_server_frame(bytes)) {
    return fail(Errc::kInvalidArgument,
                "invalid program, argument, environment, working directory or user name");
  }
  return {};
}

Error process_ended() { return Error(Errc::kConflict, "the process has ended"); }

Error agent_error(const char* how) { return Error(Errc::kProtocol, how); }

}  // namespace

// ---- requests ----------------------------------------------------------------------------------

Result<SessionProcesses::ProcessPtr> SessionProcesses::require(wire::ProcessNumber number) const {
  if (connection_->is_over()) return fail(connection_->over_error());
  const auto at = processes_.find(number);
  if (at == processes_.end() || at->second->starting) {
    return fail(Errc::kNotFound, "there is no such process");
  }
  return at->second;
}

// The oldest process that has ended and has no reader is forgotten for a new one.
Result<> SessionProcesses::make_space() {
  if (next_number_ == UINT64_MAX) {
    return fail(Errc::kResourceExhausted, "no process numbers are left");
  }
  if (processes_.size() < kMaxProcesses) return {};
  for (const auto& [number, process] : processes_) {
    if (process->info.ended && !process->reader) return forget(number);
  }
  return fail(Errc::kResourceExhausted, "too many processes in this sandbox");
}

Result<> SessionProcesses::check_attachable() const {
  const auto readers = static_cast<std::size_t>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& entry) { return entry.second->reader != nullptr; }));
  if (readers < kMaxReaders) return {};
  return fail(Errc::kResourceExhausted, "too many processes of this sandbox are read at once");
}

std::shared_ptr<Reader> SessionProcesses::add_reader(const ProcessPtr& process) {
  const auto reader = std::make_shared<Reader>(connection_->io(), process->info.number);
  process->grace.cancel();
  process->reader = reader;
  process->info.attached = true;
  return reader;
}

Task<Session::Started> SessionProcesses::start(ProcessSpec spec, Session::Attach attach) {
  const auto self = shared_from_this();
  CO_TRY_OK(connection_->check_usable());
  CO_TRY_OK(make_space());
  if (attach == Session::Attach::kYes) CO_TRY_OK(check_attachable());
  wire::StartProcess begin{.process = next_number_,
                           .kind = spec.kind,
                           .exec = std::move(spec.exec),
                           .user = std::move(spec.user),
                           .label = std::move(spec.label),
                           .has_stdin = spec.has_stdin,
                           .lossy = spec.lossy,
                           .subscribed = attach == Session::Attach::kYes};
  CO_TRY_OK(check_start_frame(begin));
  ++next_number_;
  const auto process = std::make_shared<Process>(connection_->io());
  process->info.number = begin.process;
  process->info.kind = begin.kind;
  process->info.label = begin.label;
  process->info.terminal = begin.exec.terminal.has_value();
  process->info.started_ms = static_cast<std::uint64_t>(wall_clock_ms());
  process->starting = true;
  process->lossy = begin.lossy;
  process->stdin_state.closed = !begin.has_stdin && !process->info.terminal;
  processes_.emplace(begin.process, process);
  std::unique_ptr<Attachment> attachment;
  if (attach == Session::Attach::kYes) {
    const std::shared_ptr<Reader> reader = add_reader(process);
    for (const wire::Stream stream : kOutputStreams) {
      if (process->has(stream)) reader->inbox.subscribe(stream, 0, 0);
    }
    attachment = std::make_unique<ProcessAttachment>(self, process, reader);
  }
  const wire::ServerFrame frame = std::move(begin);
  connection_->send(frame);
  const Clock::time_point deadline = Clock::now() + connection_->options().request_wait;
  while (process->starting && !process->abandoned && !connection_->is_over() &&
         Clock::now() < deadline) {
    co_await process->changed.wait(deadline);
  }
  if (connection_->is_over()) co_return fail(connection_->over_error());
  if (process->refused) co_return fail(*process->refused);
  if (process->starting) {
    process->unwanted = true;
    if (process->abandoned) co_return fail(*process->abandoned);
    co_return fail(Errc::kTimeout, "the sandbox did not start the program in time");
  }
  begin_grace(process);
  Session::Started started{process->info, std::move(attachment)};
  co_return started;
}

std::vector<ProcessInfo> SessionProcesses::all() const {
  std::vector<ProcessInfo> all;
  for (const auto& [number, process] : processes_) {
    if (!process->starting) all.push_back(process->info);
  }
  return all;
}

std::optional<ProcessInfo> SessionProcesses::find(wire::ProcessNumber number) const {
  const auto at = processes_.find(number);
  if (at == processes_.end() || at->second->starting) return std::nullopt;
  return at->second->info;
}

Task<std::unique_ptr<Attachment>> SessionProcesses::attach(wire::ProcessNumber number,
                                                           AttachFrom from) {
  CO_TRY_OK(connection_->check_usable());
  CO_TRY(const ProcessPtr process, require(number));
  if (process->reader) {
    const std::shared_ptr<Reader> before = process->reader;
    detach(process, before);
    before->taken_over = true;
    before->go("another reader took over");
  }
  CO_TRY_OK(check_attachable());
  const std::shared_ptr<Reader> reader = add_reader(process);
  const std::uint32_t subscription = ++process->subscriptions;
  for (const wire::Stream stream : kOutputStreams) {
    if (!process->has(stream)) continue;
    const std::uint64_t offset = stream == wire::Stream::kStdout   ? from.out
                                 : stream == wire::Stream::kStderr ? from.err
                                                                   : from.results;
    reader->inbox.subscribe(stream, offset, subscription);
    connection_->send(wire::Subscribe{number, stream, offset, subscription});
  }
  if (process->info.ended) {
    const ProcessInfo& info = process->info;
    reader->inbox.exited(*info.ended, info.out, info.err, info.results);
  }
  if (std::exchange(process->lossy_by_us, false)) {
    connection_->send(wire::SetLossy{number, process->lossy});
  }
  co_return std::make_unique<ProcessAttachment>(shared_from_this(), process, reader);
}

Result<> SessionProcesses::check_input(const Process& process, const InputState& input) const {
  if (connection_->is_over()) return fail(connection_->over_error());
  if (process.info.ended || process.forgotten) return fail(process_ended());
  if (input.closed) return fail(Errc::kUnavailable, "the process no longer reads this input");
  return {};
}

Task<> SessionProcesses::write_input(wire::ProcessNumber number, wire::Stream stream,
                                     std::string bytes) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, require(number));
  InputState* input = process->input(stream);
  if (input == nullptr) co_return fail(Errc::kInvalidArgument, "the process has no such input");
  while (input->is_writing) {
    CO_TRY_OK(check_input(*process, *input));
    co_await process->changed.wait(Clock::time_point::max());
  }
  CO_TRY_OK(check_input(*process, *input));
  const InputLock lock(process, *input);
  for (std::size_t at = 0; at < bytes.size();) {
    CO_TRY_OK(check_input(*process, *input));
    const std::uint64_t open = wire::kInputWindow - (input->sent - input->taken);
    if (open == 0 || !connection_->has_room() || !connection_->is_ready()) {
      co_await process->changed.wait(Clock::time_point::max());
      continue;
    }
    wire::Input chunk{number, stream, input->sent, bytes.substr(at, open)};
    at += chunk.bytes.size();
    input->sent += chunk.bytes.size();
    const wire::ServerFrame frame = std::move(chunk);
    connection_->send(frame);
  }
  const Clock::time_point soon = Clock::now() + kTakenSoon;
  while (!connection_->all_sent() || (input->taken < input->sent && Clock::now() < soon)) {
    CO_TRY_OK(check_input(*process, *input));
    co_await process->changed.wait(connection_->all_sent() ? soon : Clock::time_point::max());
  }
  if (input->taken < input->sent) CO_TRY_OK(check_input(*process, *input));
  co_return Result<>();
}

Task<> SessionProcesses::close_input(wire::ProcessNumber number, wire::Stream stream) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, require(number));
  InputState* input = process->input(stream);
  if (input == nullptr) co_return fail(Errc::kInvalidArgument, "the process has no such input");
  while (input->is_writing && !connection_->is_over() && !process->info.ended &&
         !process->forgotten) {
    co_await process->changed.wait(Clock::time_point::max());
  }
  if (connection_->is_over()) co_return fail(connection_->over_error());
  if (process->info.ended || process->forgotten || std::exchange(input->closed, true)) {
    co_return Result<>();
  }
  connection_->send(wire::CloseInput{number, stream});
  process->changed.notify_all();
  co_return Result<>();
}

Result<> SessionProcesses::signal(wire::ProcessNumber number, int signal, bool group) {
  TRY_OK(connection_->check_usable());
  TRY(const ProcessPtr process, require(number));
  if (signal < 1 || signal > 64) {
    return fail(Errc::kInvalidArgument, "invalid signal number " + std::to_string(signal));
  }
  if (process->info.ended) return fail(process_ended());
  connection_->send(wire::SignalProcess{number, static_cast<std::uint8_t>(signal), group});
  return {};
}

Result<> SessionProcesses::resize(wire::ProcessNumber number, TerminalSize size) {
  TRY_OK(connection_->check_usable());
  TRY(const ProcessPtr process, require(number));
  if (!process->info.terminal) {
    return fail(Errc::kInvalidArgument, "the process has no terminal");
  }
  if (process->info.ended) return fail(process_ended());
  connection_->send(wire::ResizeProcess{number, size});
  return {};
}

Result<> SessionProcesses::set_lossy(wire::ProcessNumber number, bool lossy) {
  TRY_OK(connection_->check_usable());
  TRY(const ProcessPtr process, require(number));
  process->lossy = lossy;
  process->lossy_by_us = false;
  process->grace.cancel();
  connection_->send(wire::SetLossy{number, lossy});
  begin_grace(process);
  return {};
}

Result<> SessionProcesses::forget(wire::ProcessNumber number) {
  TRY(const ProcessPtr process, require(number));
  if (!process->info.ended) return fail(Errc::kConflict, "the process has not ended");
  if (process->reader) {
    const std::shared_ptr<Reader> reader = process->reader;
    detach(process, reader);
    reader->go("the process was forgotten");
  }
  process->forgotten = true;
  processes_.erase(number);
  connection_->send(wire::ForgetProcess{number});
  process->changed.notify_all();
  return {};
}

Task<wire::ProcessEnd> SessionProcesses::wait_exit(wire::ProcessNumber number,
                                                   Clock::time_point deadline) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, require(number));
  while (!process->info.ended) {
    if (connection_->is_over()) co_return fail(connection_->over_error());
    if (process->abandoned) co_return fail(*process->abandoned);
    if (Clock::now() >= deadline) co_return fail(Errc::kTimeout, "the process is still running");
    co_await process->changed.wait(deadline);
  }
  co_return *process->info.ended;
}

// ---- readers -----------------------------------------------------------------------------------

void SessionProcesses::acknowledge(const std::vector<wire::Acknowledge>& received) {
  for (const wire::Acknowledge& one : received) connection_->send(one);
}

void SessionProcesses::detach(const ProcessPtr& process, const std::shared_ptr<Reader>& reader) {
  if (connection_->is_over() || process->reader != reader) return;
  process->reader.reset();
  process->info.attached = false;
  for (const wire::Stream stream : kOutputStreams) {
    if (!process->has(stream)) continue;
    under_way_ = std::min(under_way_ + wire::kWindow + kFramesUnderWay, kMaxUnderWay);
    if (!process->forgotten) connection_->send(wire::Unsubscribe{process->info.number, stream});
  }
  begin_grace(process);
}

// A reader that returns in time misses nothing; one that has vanished does not stop the process
// forever.
void SessionProcesses::begin_grace(const ProcessPtr& process) {
  if (process->lossy || process->lossy_by_us || process->info.ended || process->reader) return;
  process->grace.expires_after(connection_->options().detach_grace);
  process->grace.async_wait([weak = weak_from_this(),
                             process](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (error || !self || self->connection_->is_over() || process->reader || process->info.ended) {
      return;
    }
    process->lossy_by_us = true;
    self->connection_->send(wire::SetLossy{process->info.number, true});
  });
}

// ---- what the agent reports --------------------------------------------------------------------

void SessionProcesses::skip_used_numbers() {
  next_number_ = static_cast<std::uint64_t>(wall_clock_ms());
}

void SessionProcesses::adopt(std::map<wire::ProcessNumber, wire::ProcessStatus> found) {
  for (auto& [number, status] : found) {
    const auto process = std::make_shared<Process>(connection_->io());
    process->info = {.number = number,
                     .kind = status.kind,
                     .pid = status.pid,
                     .label = std::move(status.label),
                     .warm = status.warm,
                     .terminal = status.terminal,
                     .started_ms = status.started_ms,
                     .out = status.out,
                     .err = status.err,
                     .results = status.results,
                     .ended = status.ended};
    process->lossy = status.lossy;
    process->stdin_state.sent = process->stdin_state.taken = status.input_taken;
    process->requests_state.sent = process->requests_state.taken = status.requests_taken;
    processes_.emplace(number, process);
    if (number != UINT64_MAX) next_number_ = std::max(next_number_, number + 1);
    begin_grace(process);
  }
}

void SessionProcesses::on_room() {
  for (auto& [number, process] : processes_) process->changed.notify_all();
}

void SessionProcesses::end_all(const std::string& why) {
  for (auto& [number, process] : processes_) {
    process->grace.cancel();
    if (process->reader) process->reader->go(why);
    process->reader.reset();
    process->changed.notify_all();
  }
}

void SessionProcesses::abandon_running(const Error& why) {
  for (auto& [number, process] : processes_) {
    if (process->info.ended) continue;
    process->abandoned = why;
    if (process->reader) {
      const std::shared_ptr<Reader> reader = process->reader;
      detach(process, reader);
      reader->go(why.message());
    }
    process->changed.notify_all();
  }
}

bool SessionProcesses::takes(const wire::SessionFrame& frame) {
  return std::holds_alternative<wire::Output>(frame) ||
         std::holds_alternative<wire::ProcessStarted>(frame) ||
         std::holds_alternative<wire::StartRefused>(frame) ||
         std::holds_alternative<wire::InputTaken>(frame) ||
         std::holds_alternative<wire::ProcessExited>(frame);
}

Result<> SessionProcesses::on_frame(wire::SessionFrame frame) {
  if (auto* output = std::get_if<wire::Output>(&frame)) return on(*output);
  if (auto* started = std::get_if<wire::ProcessStarted>(&frame)) return on(*started);
  if (auto* refused = std::get_if<wire::StartRefused>(&frame)) return on(*refused);
  if (auto* taken = std::get_if<wire::InputTaken>(&frame)) return on(*taken);
  return on(std::get<wire::ProcessExited>(frame));
}

Result<SessionProcesses::ProcessPtr> SessionProcesses::process_of_frame(
    wire::ProcessNumber number) const {
  const auto at = processes_.find(number);
  if (at != processes_.end()) return at->second;
  if (number == 0 || number >= next_number_) {
    return fail(agent_error("a process that was never started"));
  }
  return nullptr;
}

Result<> SessionProcesses::on(wire::ProcessStarted& started) {
  TRY(const ProcessPtr process, process_of_frame(started.process));
  if (!process) return {};
  if (!process->starting) return fail(agent_error("a process started twice"));
  process->starting = false;
  process->info.pid = started.pid;
  process->info.warm = started.warm;
  if (process->unwanted) connection_->send(wire::SignalProcess{started.process, SIGKILL, true});
  process->changed.notify_all();
  return {};
}

Result<> SessionProcesses::on(wire::StartRefused& refused) {
  TRY(const ProcessPtr process, process_of_frame(refused.process));
  if (!process) return {};
  if (!process->starting) return fail(agent_error("the start of a running process was refused"));
  process->starting = false;
  process->refused = guest_error(refused.sys_errno, refused.step);
  process->changed.notify_all();
  processes_.erase(refused.process);
  return {};
}

Result<> SessionProcesses::on(wire::Output& output) {
  TRY(const ProcessPtr process, process_of_frame(output.process));
  const bool wanted = process && process->reader &&
                      process->reader->inbox.wants(output.stream, output.subscription);
  if (!wanted) {
    // As much as may have been under way when its reader left, and no more. Empty frames count.
    const std::uint64_t size = output.bytes.size() + 1;
    if (size > under_way_) return fail(agent_error("output without a subscription"));
    under_way_ -= size;
    return {};
  }
  wire::StreamState& state = process->state(output.stream);
  state.end = std::max(state.end, output.offset + output.bytes.size());
  if (state.begin > state.end) state.begin = state.end;
  const std::shared_ptr<Reader> reader = process->reader;
  TRY_OK(reader->inbox.take(std::move(output)));
  reader->notifier.notify_all();
  return {};
}

Result<> SessionProcesses::on(wire::InputTaken& taken) {
  TRY(const ProcessPtr process, process_of_frame(taken.process));
  if (!process) return {};
  InputState* input = process->input(taken.stream);
  if (input == nullptr) return fail(agent_error("input of a stream that does not exist"));
  if (taken.offset > input->sent) return fail(agent_error("more input taken than was sent"));
  // Less than before: what it had taken from the server before us.
  input->taken = std::max(input->taken, taken.offset);
  if (taken.closed) input->closed = true;
  process->changed.notify_all();
  return {};
}

Result<> SessionProcesses::on(wire::ProcessExited& exited) {
  TRY(const ProcessPtr process, process_of_frame(exited.process));
  if (!process) return {};
  if (process->info.ended) return fail(agent_error("a process ended twice"));
  process->starting = false;
  process->info.ended = exited.end;
  process->info.out = exited.out;
  process->info.err = exited.err;
  process->info.results = exited.results;
  process->grace.cancel();
  process->changed.notify_all();
  if (process->reader) {
    process->reader->inbox.exited(exited.end, exited.out, exited.err, exited.results);
    process->reader->notifier.notify_all();
  }
  if (process->unwanted) (void)forget(exited.process);
  return {};
}

}  // namespace glovebox::node
