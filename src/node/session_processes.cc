// What is asked of a session's processes: start, read, write, signal, wait.
#include <algorithm>
#include <utility>

#include "node/session.h"

namespace glovebox::node {
namespace {

// What was sent is the agent's; whether the guest reads it is mostly known at once.
constexpr std::chrono::milliseconds kTakenSoon{200};

// The agent drops what it cannot read, without a word: so it is read here first.
Result<> check_process_frame(const wire::ServerFrame& frame) {
  const std::vector<std::byte> bytes = wire::encode(frame);
  if (bytes.size() > wire::kMaxSessionFrame) {
    return fail(Errc::kInvalidArgument, "arguments and environment are too long");
  }
  if (!wire::decode_server_frame(bytes)) {
    return fail(Errc::kInvalidArgument,
                "the program, its arguments, its directory or its user cannot be so");
  }
  return {};
}

Error ended_already() { return Error(Errc::kConflict, "the process has ended"); }

// One writes into a stream, and the others wait for their turn.
class Turn {
 public:
  Turn(std::shared_ptr<Process> process, InputState& input)
      : process_(std::move(process)), input_(input) {
    input_.in_turn = true;
  }
  ~Turn() {
    input_.in_turn = false;
    process_->changed.ring();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  std::shared_ptr<Process> process_;
  InputState& input_;
};

}  // namespace

Result<> LiveSession::usable() const {
  if (over_) return fail(over_error());
  if (!greeted_) return fail(Errc::kConflict, "the sandbox is paused");
  if (!link_.has_room()) return fail(Errc::kResourceExhausted, "the sandbox does not keep up");
  return {};
}

Result<LiveSession::ProcessPtr> LiveSession::find(wire::ProcessNumber number) const {
  if (over_) return fail(over_error());
  const auto at = processes_.find(number);
  if (at == processes_.end() || at->second->starting) {
    return fail(Errc::kNotFound, "there is no such process");
  }
  return at->second;
}

// The oldest that has ended and that nobody reads goes for a new one.
Result<> LiveSession::make_space() {
  if (next_process_ == UINT64_MAX) return fail(Errc::kResourceExhausted, "no numbers are left");
  if (processes_.size() < kMaxProcesses) return {};
  for (const auto& [number, process] : processes_) {
    if (process->info.ended && !process->reader) return forget(number);
  }
  return fail(Errc::kResourceExhausted, "too many processes in this sandbox");
}

Result<> LiveSession::check_attachable() const {
  const auto readers = static_cast<std::size_t>(
      std::count_if(processes_.begin(), processes_.end(),
                    [](const auto& entry) { return entry.second->reader != nullptr; }));
  if (readers < kMaxReaders) return {};
  return fail(Errc::kResourceExhausted, "too many processes of this sandbox are read at once");
}

std::shared_ptr<Reader> LiveSession::give_reader(const ProcessPtr& process) {
  const auto reader = std::make_shared<Reader>(place_.io, process->info.number);
  process->grace.cancel();
  process->reader = reader;
  process->info.attached = true;
  return reader;
}

Task<Session::Started> LiveSession::start(ProcessSpec spec, Attach attach) {
  const auto self = shared_from_this();
  CO_TRY_OK(usable());
  CO_TRY_OK(make_space());
  if (attach == Attach::kYes) CO_TRY_OK(check_attachable());
  wire::StartProcess begin{.process = next_process_,
                           .kind = spec.kind,
                           .exec = std::move(spec.exec),
                           .user = std::move(spec.user),
                           .label = std::move(spec.label),
                           .has_stdin = spec.has_stdin,
                           .lossy = spec.lossy,
                           .subscribed = attach == Attach::kYes};
  CO_TRY_OK(check_process_frame(begin));
  ++next_process_;
  const auto process = std::make_shared<Process>(place_.io);
  process->info.number = begin.process;
  process->info.kind = begin.kind;
  process->info.label = begin.label;
  process->info.terminal = begin.exec.terminal.has_value();
  process->info.started_ms = wall_clock_ms();
  process->starting = true;
  process->lossy = begin.lossy;
  process->stdin_state.closed = !begin.has_stdin && !process->info.terminal;
  processes_.emplace(begin.process, process);
  std::unique_ptr<Attachment> attachment;
  if (attach == Attach::kYes) {
    const std::shared_ptr<Reader> reader = give_reader(process);
    for (const wire::Stream stream : kOutputStreams) {
      if (process->has(stream)) reader->inbox.subscribe(stream, 0, 0);
    }
    attachment = make_attachment(self, process, reader);
  }
  const wire::ServerFrame frame = std::move(begin);
  link_.send(frame);
  const Clock::time_point deadline = until(place_.options.request_wait);
  while (process->starting && !over_ && Clock::now() < deadline) {
    co_await process->changed.wait(deadline);
  }
  if (over_) co_return fail(over_error());
  if (process->refused) co_return fail(*process->refused);
  if (process->starting) {
    process->unwanted = true;
    co_return fail(Errc::kTimeout, "the sandbox did not start the program in time");
  }
  begin_grace(process);
  Started started{process->info, std::move(attachment)};
  co_return started;
}

std::vector<ProcessInfo> LiveSession::processes() const {
  std::vector<ProcessInfo> all;
  for (const auto& [number, process] : processes_) {
    if (!process->starting) all.push_back(process->info);
  }
  return all;
}

std::optional<ProcessInfo> LiveSession::find_process(wire::ProcessNumber number) const {
  const auto at = processes_.find(number);
  if (at == processes_.end() || at->second->starting) return std::nullopt;
  return at->second->info;
}

Task<std::unique_ptr<Attachment>> LiveSession::attach(wire::ProcessNumber number, AttachFrom from) {
  CO_TRY_OK(usable());
  CO_TRY(const ProcessPtr process, find(number));
  if (process->reader) {
    const std::shared_ptr<Reader> before = process->reader;
    detach(process, before);
    before->taken_over = true;
    before->go("another reader took over");
  }
  CO_TRY_OK(check_attachable());
  const std::shared_ptr<Reader> reader = give_reader(process);
  const std::uint32_t subscription = ++process->subscriptions;
  for (const wire::Stream stream : kOutputStreams) {
    if (!process->has(stream)) continue;
    const std::uint64_t offset = stream == wire::Stream::kStdout   ? from.out
                                 : stream == wire::Stream::kStderr ? from.err
                                                                   : from.results;
    reader->inbox.subscribe(stream, offset, subscription);
    send(wire::Subscribe{number, stream, offset, subscription});
  }
  if (process->info.ended) {
    const ProcessInfo& info = process->info;
    reader->inbox.exited(*info.ended, info.out, info.err, info.results);
  }
  if (std::exchange(process->lossy_by_us, false)) send(wire::SetLossy{number, process->lossy});
  co_return make_attachment(shared_from_this(), process, reader);
}

Result<> LiveSession::check_input(const Process& process, const InputState& input) const {
  if (over_) return fail(over_error());
  if (process.info.ended || process.forgotten) return fail(ended_already());
  if (input.closed) return fail(Errc::kUnavailable, "nobody reads this input any more");
  return {};
}

Task<> LiveSession::write_input(wire::ProcessNumber number, wire::Stream stream,
                                std::string bytes) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, find(number));
  InputState* input = process->input(stream);
  if (input == nullptr) co_return fail(Errc::kInvalidArgument, "the process has no such input");
  while (input->in_turn) {
    CO_TRY_OK(check_input(*process, *input));
    co_await process->changed.wait(Clock::time_point::max());
  }
  CO_TRY_OK(check_input(*process, *input));
  const Turn turn(process, *input);
  for (std::size_t at = 0; at < bytes.size();) {
    CO_TRY_OK(check_input(*process, *input));
    const std::uint64_t open = wire::kInputWindow - (input->sent - input->taken);
    if (open == 0 || !link_.has_room() || !greeted_) {
      co_await process->changed.wait(Clock::time_point::max());
      continue;
    }
    wire::Input chunk{number, stream, input->sent, bytes.substr(at, open)};
    at += chunk.bytes.size();
    input->sent += chunk.bytes.size();
    const wire::ServerFrame frame = std::move(chunk);
    link_.send(frame);
  }
  const Clock::time_point soon = Clock::now() + kTakenSoon;
  while (!link_.all_sent() || (input->taken < input->sent && Clock::now() < soon)) {
    CO_TRY_OK(check_input(*process, *input));
    co_await process->changed.wait(link_.all_sent() ? soon : Clock::time_point::max());
  }
  if (input->taken < input->sent) CO_TRY_OK(check_input(*process, *input));
  co_return Result<>();
}

Task<> LiveSession::close_input(wire::ProcessNumber number, wire::Stream stream) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, find(number));
  InputState* input = process->input(stream);
  if (input == nullptr) co_return fail(Errc::kInvalidArgument, "the process has no such input");
  while (input->in_turn && !over_ && !process->info.ended && !process->forgotten) {
    co_await process->changed.wait(Clock::time_point::max());
  }
  if (over_) co_return fail(over_error());
  if (process->info.ended || process->forgotten || std::exchange(input->closed, true)) {
    co_return Result<>();
  }
  const wire::ServerFrame frame = wire::CloseInput{number, stream};
  link_.send(frame);
  process->changed.ring();
  co_return Result<>();
}

Result<> LiveSession::signal(wire::ProcessNumber number, int signal, bool group) {
  TRY_OK(usable());
  TRY(const ProcessPtr process, find(number));
  if (signal < 1 || signal > 64) return fail(Errc::kInvalidArgument, "there is no such signal");
  if (process->info.ended) return fail(ended_already());
  send(wire::SignalProcess{number, static_cast<std::uint8_t>(signal), group});
  return {};
}

Result<> LiveSession::resize(wire::ProcessNumber number, TerminalSize size) {
  TRY_OK(usable());
  TRY(const ProcessPtr process, find(number));
  if (!process->info.terminal) return fail(Errc::kInvalidArgument, "it has no terminal");
  if (process->info.ended) return fail(ended_already());
  send(wire::ResizeProcess{number, size});
  return {};
}

Result<> LiveSession::set_lossy(wire::ProcessNumber number, bool lossy) {
  TRY_OK(usable());
  TRY(const ProcessPtr process, find(number));
  process->lossy = lossy;
  process->lossy_by_us = false;
  process->grace.cancel();
  send(wire::SetLossy{number, lossy});
  begin_grace(process);
  return {};
}

Result<> LiveSession::forget(wire::ProcessNumber number) {
  TRY(const ProcessPtr process, find(number));
  if (!process->info.ended) return fail(Errc::kConflict, "the process has not ended");
  if (process->reader) {
    const std::shared_ptr<Reader> reader = process->reader;
    detach(process, reader);
    reader->go("the process was forgotten");
  }
  process->forgotten = true;
  processes_.erase(number);
  send(wire::ForgetProcess{number});
  process->changed.ring();
  return {};
}

Task<wire::ProcessEnd> LiveSession::wait_exit(wire::ProcessNumber number,
                                              Clock::time_point deadline) {
  const auto self = shared_from_this();
  CO_TRY(const ProcessPtr process, find(number));
  while (!process->info.ended) {
    if (over_) co_return fail(over_error());
    if (Clock::now() >= deadline) co_return fail(Errc::kTimeout, "the process runs on");
    co_await process->changed.wait(deadline);
  }
  co_return *process->info.ended;
}

}  // namespace glovebox::node
