// One attempt to run a job in one sandbox, from the first frame to the outcome. One coroutine waits
// for the sandbox's socket, the program's pipes and the launcher's report, whichever comes first.
// What a program does to itself is an outcome; an error means that we failed, and may_retry() tells
// whether another sandbox may do better. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "node/async/pending_reply.h"
#include "node/async/wake_signal.h"
#include "node/async/watched_fd.h"
#include "node/runs/result_lines.h"
#include "node/runs/run.h"
#include "node/sandboxes/sandbox.h"
#include "node/sandboxes/sandbox_link.h"

namespace glovebox::node {

class RunAttempt final : public ActiveRun {
 public:
  // All borrowed, except the sandbox. `asked` is when the request arrived.
  RunAttempt(RunContext context, const RunJob& job, RunSink& sink, std::unique_ptr<Sandbox> sandbox,
             RunReport& report, Clock::time_point asked);
  ~RunAttempt() override;

  Task<> go(RuntimeKind runtime, std::shared_ptr<CancelFlag> cancel);
  // After an error: none of the caller's code has run, and another sandbox may do better.
  bool may_retry() const { return may_retry_; }

  void check_deadlines(Clock::time_point now) override;
  void stop() override;

 private:
  enum Pipe { kOut, kErr, kResults, kPipes };

  Task<> run_in_sandbox(RuntimeKind runtime);
  Task<> start(RuntimeKind runtime);
  void continue_with(KeptRuntime kept);
  Task<> await_started();
  Result<> take_pipes(std::vector<UniqueFd> fds);
  Task<> on_start_failure(Error why);
  Task<> stream();
  void poll_exit();
  bool all_closed() const { return !pipes_[kOut] && !pipes_[kErr] && !pipes_[kResults]; }
  // What goes to its standard input.
  const std::string& input() const {
    return job_.shares_interpreter ? job_.call : job_.stdin_bytes;
  }
  void feed_stdin();
  bool is_flooding() const;
  boost::asio::awaitable<bool> pump(Pipe which);
  boost::asio::awaitable<void> deliver(Pipe which, std::string_view bytes);
  boost::asio::awaitable<void> deliver_results(std::vector<std::string> lines);
  boost::asio::awaitable<void> fetch_files();
  void open_network();
  void begin_end();
  bool may_be_recycled() const;
  bool can_keep_runtime() const;
  boost::asio::awaitable<void> await_network_report();
  Task<> finish();

  Task<SandboxLink::Incoming> next_frame();
  Task<> await_ended();
  // Or until something has happened.
  boost::asio::awaitable<void> wait_until(Clock::time_point time) {
    wake_at_ = time;
    return signal_.wait();
  }
  Clock::time_point now() const { return context_.options.now(); }
  bool over() const { return exited_ || sandbox_->ended() || !link_open_; }

  RunContext context_;
  const RunJob& job_;
  RunSink& sink_;
  RunReport& report_;
  Clock::time_point asked_;
  Clock::time_point deadline_{};
  Clock::time_point wake_at_ = Clock::time_point::max();
  Clock::time_point handed_over_{};
  Clock::time_point started_{};
  WakeSignal signal_;
  std::unique_ptr<Sandbox> sandbox_;
  SandboxLink link_;
  StartMode mode_ = StartMode::kProgram;
  std::string interpreter_;  // of the template
  WatchedFd stdin_;
  std::size_t stdin_at_ = 0;
  WatchedFd pipes_[kPipes];
  std::unique_ptr<char[]> buffer_;
  ResultLines results_;
  std::uint64_t surplus_ = 0;  // bytes read past the output limit, and of results
  bool link_open_ = true;
  std::optional<Clock::time_point> take_call_by_;  // of an interpreter that was there before
  bool call_ended_ = false;  // of an interpreter that stays: its last word, and all it had printed
  bool stopped_ = false;     // by the caller, or because the reader is gone
  bool overdue_ = false;
  bool may_retry_ = false;
  std::optional<Error> network_failed_;
  std::shared_ptr<PendingReply<wire::NetworkFigures>> network_report_;  // once it is over
  bool has_network_ = false;
  std::optional<wire::ProgramExited> exited_;
  std::optional<std::uint8_t>
      runtime_exit_;  // that the runtime reported; valid once its pipes are closed
};

}  // namespace glovebox::node
