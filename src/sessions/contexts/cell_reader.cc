#include "sessions/contexts/cell_reader.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "wire/guest/cell.h"

namespace glovebox::sessions {

using node::Attachment;

namespace {

// The time from the interrupt to the kill.
constexpr std::chrono::seconds kAnswerPatience{2};
// How long to wait for the remaining output after a cell's end, and for the end after a kill.
constexpr std::chrono::seconds kStragglers{2};
constexpr std::chrono::seconds kCellDeadWithin{10};
constexpr std::chrono::seconds kLookRound{1};

}  // namespace

Task<> CellReader::read(std::unique_ptr<Attachment> attachment, CellReport& report) {
  while (!is_complete()) {
    const auto until = std::min(deadline_, Clock::now() + kLookRound);
    Attachment::Event event = co_await attachment->next(until);
    if (auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
      co_await take(std::move(*chunk), report);
    } else if (const auto* lost = std::get_if<Attachment::Lost>(&event)) {
      position(lost->stream) += lost->bytes;
      report.outcome.truncated = true;
    } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      exited_ = exited->end;
    } else if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
      co_return fail(Errc::kUnavailable, gone->why);
    }
    co_await release(report, false);
    step(report);
  }
  co_await release(report, true);
  report.outcome.truncated = report.outcome.truncated || lines_.truncated();
  report.outcome.exit_code = end_ ? *end_ : 0;
  co_return Result<>();
}

bool CellReader::is_complete() const {
  if (exited_ || gave_up_) return true;
  return end_ && has_printed(out_before_, err_before_);
}

std::uint64_t& CellReader::position(wire::Stream stream) {
  if (stream == wire::Stream::kResults) return context_.read.results;
  return stream == wire::Stream::kStderr ? context_.read.err : context_.read.out;
}

asio::awaitable<void> CellReader::take(Attachment::Chunk chunk, CellReport& report) {
  position(chunk.stream) = chunk.offset + chunk.bytes.size();
  if (chunk.stream != wire::Stream::kResults) {
    co_await print(chunk.stream == wire::Stream::kStderr, std::move(chunk.bytes), report);
    co_return;
  }
  for (ContextOutput::Line& line : lines_.add(chunk.bytes)) {
    if (!line.result.empty()) {
      held_.push_back({std::move(line.result), chunk.out_before, chunk.err_before});
    } else if (const auto* end = std::get_if<wire::CellEnd>(&line.event)) {
      if (end->number != number_ || end_) continue;
      end_ = end->exit_code;
      out_before_ = chunk.out_before;
      err_before_ = chunk.err_before;
      deadline_ = Clock::now() + kStragglers;
    } else if (const auto* exit = std::get_if<wire::ContextExit>(&line.event)) {
      requested_exit_code_ = exit->exit_code;
    }
  }
}

bool CellReader::has_printed(std::uint64_t out, std::uint64_t err) const {
  return context_.read.out >= out && context_.read.err >= err;
}

// Passes on results whose preceding output has been passed on.
asio::awaitable<void> CellReader::release(CellReport& report, bool all) {
  while (!held_.empty() &&
         (all || has_printed(held_.front().out_before, held_.front().err_before))) {
    const bool there = co_await sink_.on_result(held_.front().line);
    reader_gone_ = reader_gone_ || !there;
    report.results.push_back(std::move(held_.front().line));
    held_.pop_front();
  }
}

asio::awaitable<void> CellReader::print(bool is_stderr, std::string bytes, CellReport& report) {
  Outcome& outcome = report.outcome;
  const std::uint64_t room = output_limit_ - std::min(output_limit_, outcome.output_bytes);
  outcome.output_bytes += bytes.size();
  if (bytes.size() > room) {
    outcome.truncated = true;
    bytes.resize(static_cast<std::size_t>(room));
  }
  if (bytes.empty() || reader_gone_) co_return;
  const bool there = co_await sink_.on_output(is_stderr, bytes);
  reader_gone_ = !there;
}

// Acts on the deadline and on a cancelled request.
void CellReader::step(CellReport& report) {
  const auto now = Clock::now();
  if (end_ || exited_) {
    gave_up_ = now >= deadline_;
    return;
  }
  if (now >= deadline_) {
    if (killed_) {
      gave_up_ = true;
    } else if (report.outcome.timed_out) {
      killed_ = true;
      interpreter_.kill(context_);
      deadline_ = now + kCellDeadWithin;
    } else {
      report.outcome.timed_out = true;
      (void)interpreter_.interrupt(context_);
      deadline_ = now + kAnswerPatience;
    }
    return;
  }
  // Repeated: the first signal may have arrived before the runtime started the cell.
  if ((cancel_.cancelled() || reader_gone_) && !report.outcome.timed_out &&
      now >= next_interrupt_) {
    (void)interpreter_.interrupt(context_);
    next_interrupt_ = now + kAnswerPatience;
  }
}

}  // namespace glovebox::sessions
