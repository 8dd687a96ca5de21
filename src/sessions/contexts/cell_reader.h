// Reads the output and the results of one cell, from its start to its end; interrupts it, and then
// kills its interpreter, when the deadline is exceeded or no client waits for it any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/task.h"
#include "model/outcome.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"
#include "sessions/contexts/context.h"
#include "sessions/contexts/context_interpreter.h"
#include "sessions/contexts/context_output.h"

namespace glovebox::sessions {

struct CellReport {
  Outcome outcome;                   // without the output, which the sink has received
  std::vector<std::string> results;  // lines, unparsed
  std::string died;                  // how the interpreter ended, when it did
  bool restarted = false;            // the interpreter is a new one, and empty
  bool warm = false;
  std::uint64_t cell = 0;  // the cell's number in its context
  std::chrono::microseconds queued{0};
};

class CellReader {
 public:
  using Clock = std::chrono::steady_clock;

  // All are borrowed and outlive this. `number` is the one that was sent with the cell.
  CellReader(ContextInterpreter& interpreter, Context& context, node::RunSink& sink,
             node::CancelFlag& cancel, std::uint64_t number, std::uint64_t output_limit,
             Clock::time_point deadline)
      : interpreter_(interpreter),
        context_(context),
        sink_(sink),
        cancel_(cancel),
        number_(number),
        output_limit_(output_limit),
        deadline_(deadline) {}

  // To the end of the cell or of its interpreter. kUnavailable: the sandbox is gone.
  Task<> read(std::unique_ptr<node::Attachment> attachment, CellReport& report);

  const std::optional<wire::ProcessEnd>& exited() const { return exited_; }
  // The exit code with which the code ended its interpreter.
  const std::optional<int>& requested_exit_code() const { return requested_exit_code_; }
  bool killed() const { return killed_; }

 private:
  bool is_complete() const;
  bool has_printed(std::uint64_t out, std::uint64_t err) const;
  std::uint64_t& position(wire::Stream stream);
  asio::awaitable<void> take(node::Attachment::Chunk chunk, CellReport& report);
  asio::awaitable<void> release(CellReport& report, bool all);
  asio::awaitable<void> print(bool is_stderr, std::string bytes, CellReport& report);
  void step(CellReport& report);

  ContextInterpreter& interpreter_;
  Context& context_;
  node::RunSink& sink_;
  node::CancelFlag& cancel_;
  const std::uint64_t number_;
  const std::uint64_t output_limit_;
  Clock::time_point deadline_;
  Clock::time_point next_interrupt_{};
  ContextOutput lines_;
  struct HeldResult {
    std::string line;
    std::uint64_t out_before = 0;
    std::uint64_t err_before = 0;
  };
  std::deque<HeldResult> held_;  // bounded by what ContextOutput lets through
  std::optional<int> end_;
  std::optional<int> requested_exit_code_;
  std::optional<wire::ProcessEnd> exited_;
  std::uint64_t out_before_ = 0;
  std::uint64_t err_before_ = 0;
  bool reader_gone_ = false;
  bool killed_ = false;
  bool gave_up_ = false;
};

}  // namespace glovebox::sessions
