// Starts a caller's processes in sessions and writes their standard input.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/memory_budget.h"
#include "base/task.h"
#include "node/sessions/session_service.h"
#include "sessions/processes/exec_request.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/sessions.h"

namespace glovebox::sessions {

enum class ExecKind : std::uint8_t { kCollect, kBackground, kStream };

class ProcessStarter {
 public:
  // All are borrowed and outlive this.
  ProcessStarter(asio::io_context& io, Sessions& sessions, OomKillCounter& oom_kills,
                 MemoryBudget& memory_budget)
      : io_(io), sessions_(sessions), oom_kills_(oom_kills), memory_budget_(memory_budget) {}

  // `line` is for the session's log. Errors as Session::start's.
  Task<node::Session::Started> start(std::shared_ptr<node::Session> session, node::ProcessSpec spec,
                                     node::Session::Attach attach, std::string line);
  // kInvalidArgument: the sandbox has no such program, directory or user. With ENOENT there is no
  // such program, with another errno it is not executable.
  Task<node::Session::Started> start_exec(std::shared_ptr<node::Session> session,
                                          ExecRequest request, ExecKind kind);

  // Writes in the background, then closes the input. Stops when the process ends.
  void feed_stdin(std::shared_ptr<node::Session> session, wire::ProcessNumber process,
                  std::string bytes, std::shared_ptr<void> claim);
  // Reserves server memory for the input of feed_stdin(); call it before the start.
  // kResourceExhausted: too much input is already waiting.
  Result<std::shared_ptr<void>> claim_stdin(const std::string& owner,
                                            const std::optional<std::string>& given);

 private:
  asio::io_context& io_;
  Sessions& sessions_;
  OomKillCounter& oom_kills_;
  MemoryBudget& memory_budget_;
};

// The time at which a process is killed; max(): never.
std::chrono::steady_clock::time_point deadline_of(const ExecRequest& request,
                                                  std::chrono::milliseconds otherwise);

}  // namespace glovebox::sessions
