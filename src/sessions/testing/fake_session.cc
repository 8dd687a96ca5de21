// See fake_session.h.
#include "sessions/testing/fake_session.h"

#include <algorithm>
#include <csignal>

#include "wire/byte_codec.h"

namespace glovebox::sessions {
namespace {

using node::Attachment;
using Clock = std::chrono::steady_clock;

class FakeAttachment final : public Attachment {
 public:
  FakeAttachment(FakeSession& session, std::shared_ptr<FakeProcess> process)
      : session_(session), process_(std::move(process)) {
    process_->info.attached = true;
  }
  ~FakeAttachment() override { process_->info.attached = false; }

  wire::ProcessNumber process() const override { return process_->info.number; }
  asio::awaitable<Event> next(Clock::time_point deadline) override {
    while (true) {
      if (is_closed_) co_return Gone{"closed"};
      if (!session_.is_alive) co_return Gone{"the session ended"};
      if (!process_->events.empty()) {
        Event event = std::move(process_->events.front());
        process_->events.pop_front();
        co_return event;
      }
      if (Clock::now() >= deadline) co_return Nothing{};
      co_await session_.change(deadline);
    }
  }
  void close() override {
    is_closed_ = true;
    session_.wake();
  }

 private:
  FakeSession& session_;
  std::shared_ptr<FakeProcess> process_;
  bool is_closed_ = false;
};

Error no_process() { return Error(Errc::kNotFound, "no such process"); }

}  // namespace

void FakeProcess::print(std::string text, wire::Stream stream) {
  wire::StreamState& state = stream == wire::Stream::kStderr ? info.err : info.out;
  Attachment::Chunk chunk;
  chunk.stream = stream;
  chunk.offset = state.end;
  state.end += text.size();
  chunk.bytes = std::move(text);
  events.emplace_back(std::move(chunk));
  session->wake();
}

void FakeProcess::say(std::string line) {
  Attachment::Chunk chunk;
  chunk.stream = wire::Stream::kResults;
  chunk.offset = info.results.end;
  chunk.bytes = std::move(line) + "\n";
  chunk.out_before = info.out.end;
  chunk.err_before = info.err.end;
  info.results.end += chunk.bytes.size();
  events.emplace_back(std::move(chunk));
  session->wake();
}

void FakeProcess::end_cell(std::uint64_t number, int code) {
  say(R"({"type":"end","cell":)" + std::to_string(number) + R"(,"exit_code":)" +
      std::to_string(code) + "}");
}

void FakeProcess::exit(std::uint8_t code, std::uint8_t signal) {
  wire::ProcessEnd end;
  end.code = code;
  end.signal = signal;
  end.cpu_us = 1500;
  info.ended = end;
  events.emplace_back(Attachment::Exited{end});
  session->wake();
}

void FakeSession::wake() {
  for (asio::steady_timer* timer : waiting_) timer->cancel();
}

asio::awaitable<void> FakeSession::change(Clock::time_point deadline) {
  asio::steady_timer timer(io_, deadline);
  waiting_.push_back(&timer);
  struct Registration {
    std::vector<asio::steady_timer*>& all;
    asio::steady_timer& timer;
    ~Registration() { std::erase(all, &timer); }
  } registration{waiting_, timer};
  co_await timer.async_wait(kAwaitTuple);
}

Task<node::Session::Started> FakeSession::start(node::ProcessSpec spec, Attach attach) {
  auto process = std::make_shared<FakeProcess>();
  process->session = this;
  process->info.number = next_++;
  process->info.pid = 100 + static_cast<std::uint32_t>(process->info.number);
  process->info.kind = spec.kind;
  process->info.label = spec.label;
  process->info.terminal = spec.exec.terminal.has_value();
  process->info.warm = spec.kind == wire::ProcessKind::kWarmContext;
  process->spec = std::move(spec);
  CO_TRY_OK(on_start(*process));
  all.emplace(process->info.number, process);
  Started started;
  started.info = process->info;
  if (attach == Attach::kYes) started.attachment = std::make_unique<FakeAttachment>(*this, process);
  co_return started;
}

std::vector<node::ProcessInfo> FakeSession::processes() const {
  std::vector<node::ProcessInfo> infos;
  for (const auto& [number, process] : all) infos.push_back(process->info);
  return infos;
}

std::optional<node::ProcessInfo> FakeSession::find_process(wire::ProcessNumber number) const {
  const auto found = all.find(number);
  if (found == all.end()) return std::nullopt;
  return found->second->info;
}

Task<std::unique_ptr<Attachment>> FakeSession::attach(wire::ProcessNumber number,
                                                      node::AttachFrom from) {
  const auto found = all.find(number);
  if (found == all.end()) co_return fail(no_process());
  if (from.out == node::AttachFrom::kNow) {
    std::erase_if(found->second->events, [](const Attachment::Event& event) {
      return std::holds_alternative<Attachment::Chunk>(event);
    });
  }
  co_return std::make_unique<FakeAttachment>(*this, found->second);
}

Task<> FakeSession::write_input(wire::ProcessNumber number, wire::Stream stream,
                                std::string bytes) {
  const auto found = all.find(number);
  if (found == all.end()) co_return fail(no_process());
  const std::shared_ptr<FakeProcess> process = found->second;
  while (process->input_stuck && !process->info.ended) co_await change(Clock::time_point::max());
  const bool closed = process->input_closed && stream == wire::Stream::kStdin;
  if (process->info.ended || closed) co_return fail(Errc::kUnavailable, "stdin is closed");
  if (stream == wire::Stream::kRequests) {
    process->requests += bytes;
    take_requests(*process);
  } else {
    process->input += bytes;
  }
  wake();
  co_return Result<>();
}

// Like a runtime: a job first, then cells.
void FakeSession::take_requests(FakeProcess& process) {
  while (process.requests.size() >= 4) {
    wire::ByteReader head(std::as_bytes(std::span(process.requests)));
    const auto size = head.number<std::uint32_t>();
    if (process.requests.size() < 4 + size) return;
    const std::string record = process.requests.substr(4, size);
    process.requests.erase(0, 4 + size);
    if (!process.job) {
      process.job = wire::decode_job(record).value();
      if (contexts_get_ready) process.say(R"({"type":"ready"})");
      continue;
    }
    process.cells.push_back(wire::decode_cell(record).value());
    if (on_cell) on_cell(process, process.cells.back());
  }
}

Task<> FakeSession::close_input(wire::ProcessNumber number, wire::Stream) {
  const auto found = all.find(number);
  if (found == all.end()) co_return fail(no_process());
  found->second->input_closed = true;
  wake();
  co_return Result<>();
}

Result<> FakeSession::signal(wire::ProcessNumber number, int signal, bool) {
  const auto found = all.find(number);
  if (found == all.end()) return fail(no_process());
  const std::shared_ptr<FakeProcess> process = found->second;
  process->signals.push_back(signal);
  if (process->on_signal) process->on_signal(signal);
  if (signal == SIGKILL && !process->info.ended) process->exit(0, SIGKILL);
  wake();
  return {};
}

Result<> FakeSession::resize(wire::ProcessNumber number, TerminalSize) {
  if (!all.contains(number)) return fail(no_process());
  return {};
}
Result<> FakeSession::set_lossy(wire::ProcessNumber number, bool lossy) {
  const auto found = all.find(number);
  if (found == all.end()) return fail(no_process());
  found->second->spec.lossy = lossy;
  return {};
}
Result<> FakeSession::forget(wire::ProcessNumber number) {
  if (all.erase(number) == 0) return fail(no_process());
  forgotten.push_back(number);
  return {};
}

Task<wire::ProcessEnd> FakeSession::wait_exit(wire::ProcessNumber number,
                                              Clock::time_point deadline) {
  const auto found = all.find(number);
  if (found == all.end()) co_return fail(no_process());
  const std::shared_ptr<FakeProcess> process = found->second;
  while (!process->info.ended) {
    if (Clock::now() >= deadline) co_return fail(Errc::kTimeout, "it runs");
    co_await change(deadline);
  }
  co_return *process->info.ended;
}

Task<wire::FileDone> FakeSession::file(wire::FileRequest) {
  co_return fail(Errc::kUnsupported, "no files here");
}
Task<std::unique_ptr<node::FileTransfer>> FakeSession::transfer(wire::FileRequest request) {
  if (on_transfer && !is_alive) co_return fail(Errc::kUnavailable, "the session ended");
  if (on_transfer) co_return on_transfer(request);
  co_return fail(Errc::kUnsupported, "no files here");
}
Task<UniqueFd> FakeSession::connect_port(std::uint16_t) {
  co_return fail(Errc::kUnsupported, "no ports here");
}
Task<> FakeSession::end_processes() {
  for (const auto& [number, process] : all) {
    if (!process->info.ended) process->exit(0, SIGKILL);
  }
  co_return Result<>();
}

}  // namespace glovebox::sessions
