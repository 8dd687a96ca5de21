// A run in the one sandbox it was given: one coroutine that looks after the sandbox's socket, the
// program's pipes and the launcher's word, whichever has something.
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

class Attempt final : public RunWatch::Entry {
 public:
  // All borrowed, except the sandbox. `asked` is when the caller came.
  Attempt(RunPlace place, const RunJob& job, RunSink& sink, std::unique_ptr<Sandbox> sandbox,
          RunReport& report, Clock::time_point asked);
  ~Attempt() override;

  Task<> go(RuntimeKind runtime, std::shared_ptr<CancelFlag> cancel);
  // After an error: nothing of the caller's has run, and another sandbox may do better.
  bool worth_another() const { return worth_another_; }

  void look_at_clock(Clock::time_point now) override;
  void stop() override;

 private:
  enum Pipe { kOut, kErr, kResults, kPipes };

  Task<> run_through(RuntimeKind runtime);
  Task<> await_started();
  Result<> take_pipes(std::vector<UniqueFd> fds);
  Error start_failed(const wire::StartFailed& failed) const;
  Task<> ended_before_it_began(Error why);
  Task<> stream();
  void look_for_exit();
  bool all_closed() const { return !pipes_[kOut] && !pipes_[kErr] && !pipes_[kResults]; }
  void feed_stdin();
  bool floods() const;
  boost::asio::awaitable<bool> pump(Pipe which);
  boost::asio::awaitable<void> deliver(Pipe which, std::string_view bytes);
  boost::asio::awaitable<void> deliver_results(std::vector<std::string> lines);
  boost::asio::awaitable<void> fetch_files();
  Task<std::vector<wire::FoundFile>> find_files();
  Task<> fetch(wire::FoundFile file, std::uint64_t& left);
  void open_network();
  void begin_end();
  boost::asio::awaitable<void> hear_of_network();
  Task<> finish();
  void fill_outcome();

  Task<SandboxLink::Incoming> next_frame();
  Task<> await_ended();
  boost::asio::awaitable<void> wait_until(Clock::time_point time);
  Clock::time_point now() const { return place_.options.now(); }
  bool over() const { return exited_ || sandbox_->ended() || !link_open_; }

  RunPlace place_;
  const RunJob& job_;
  RunSink& sink_;
  RunReport& report_;
  Clock::time_point asked_;
  Clock::time_point deadline_{};
  Clock::time_point wake_at_ = Clock::time_point::max();
  Clock::time_point handed_over_{};
  Clock::time_point started_{};
  Signal signal_;
  std::unique_ptr<Sandbox> sandbox_;
  SandboxLink link_;
  StartWay way_ = StartWay::kProgram;
  WatchedFd stdin_;
  std::size_t stdin_at_ = 0;
  WatchedFd pipes_[kPipes];
  std::unique_ptr<char[]> buffer_;
  ResultLines results_;
  std::uint64_t surplus_ = 0;  // read of output past its limit, and of results
  bool link_open_ = true;
  bool stopped_ = false;  // by the caller, or because the reader is gone
  bool overdue_ = false;
  bool worth_another_ = false;
  std::optional<Error> network_failed_;
  std::shared_ptr<Later<wire::NetworkFigures>> network_words_;  // what it did, when it is over
  bool has_network_ = false;
  std::optional<wire::ProgramExited> exited_;
  std::optional<std::uint8_t> last_word_;  // the runtime's own; good when its pipes are closed
};

}  // namespace glovebox::node
