// The code contexts of the sessions: live interpreters that keep their variables between cells. A
// context has an id that outlives its interpreter: if the interpreter dies, a new, empty one is
// started under the same id. The id is stored with the process in the sandbox, so a restarted
// server finds its contexts again, with all their variables.
//
// A context runs one cell at a time; other cells wait in a queue. While no cell runs, the output of
// background threads stays in the sandbox, up to a limit, and is part of the next cell's output.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/id.h"
#include "base/task.h"
#include "node/runs/run_job.h"
#include "node/sessions/session_service.h"
#include "sessions/contexts/cell_reader.h"
#include "sessions/contexts/context.h"
#include "sessions/contexts/context_interpreter.h"
#include "sessions/contexts/context_languages.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/sessions.h"

namespace glovebox::sessions {

struct CellRequest {
  std::string code;
  std::optional<std::string> stdin_text;
  std::chrono::milliseconds timeout{0};  // zero: none
  std::uint64_t output_limit = 1024 * 1024;
  std::vector<std::string> env{};  // for this cell only
  bool rich = false;               // see wire::Cell
  // Called when the cell is about to run, with the cell's number in its context.
  std::function<asio::awaitable<void>(std::uint64_t)> on_turn{};
};

// The contexts of one session.
class ContextTable : public std::enable_shared_from_this<ContextTable> {
 public:
  static constexpr std::size_t kMaxContexts = 16;

  ContextTable(asio::io_context& io, Sessions& sessions, OomKillCounter& ooms,
               std::shared_ptr<node::Session> session);

  const std::shared_ptr<node::Session>& session() const { return session_; }
  std::vector<std::shared_ptr<Context>> list() const;  // by their ids
  std::shared_ptr<Context> find(std::string_view id) const;
  // kResourceExhausted: there are kMaxContexts; else as ContextInterpreter::start.
  Task<std::shared_ptr<Context>> create(ContextSpec spec);
  // The language's default context, created on first use. Its id is the language's name.
  Task<std::shared_ptr<Context>> default_of(Language language, std::vector<std::string> env = {});
  Task<> remove(std::shared_ptr<Context> context);
  // Starts a new, empty interpreter under the same id; a running cell ends with the old one.
  Task<> restart(std::shared_ptr<Context> context);
  // Stops the running statement; the variables stay.
  Result<> interrupt(const Context& context);
  // Waits until earlier cells are done. A cell whose interpreter died or that ran too long is a
  // report, not an error. On `cancel` this interrupts the cell and waits for its end.
  Task<CellReport> run(std::shared_ptr<Context> context, CellRequest request, node::RunSink& sink,
                       std::shared_ptr<node::CancelFlag> cancel);
  bool alive(const Context& context) const { return interpreter_.is_alive(context); }

 private:
  void adopt();
  Task<std::shared_ptr<Context>> make(std::string id, ContextSpec spec);
  Task<CellReport> run_in_turn(std::shared_ptr<Context> context, CellRequest request,
                               node::RunSink& sink, std::shared_ptr<node::CancelFlag> cancel);

  asio::io_context& io_;
  Sessions& sessions_;
  OomKillCounter& ooms_;
  std::shared_ptr<node::Session> session_;
  ContextInterpreter interpreter_;
  std::map<std::string, std::shared_ptr<Context>, std::less<>> contexts_;
  // Unique across servers, so that output of an earlier server's cell is recognized.
  std::uint64_t next_cell_ = 1;
  std::uint64_t next_order_ = 1;
};

class Contexts {
 public:
  Contexts(asio::io_context& io, Sessions& sessions, OomKillCounter& ooms)
      : io_(io), sessions_(sessions), ooms_(ooms) {}

  std::shared_ptr<ContextTable> of(const std::shared_ptr<node::Session>& session);

 private:
  asio::io_context& io_;
  Sessions& sessions_;
  OomKillCounter& ooms_;
  std::map<SandboxId, std::shared_ptr<ContextTable>> tables_;
};

}  // namespace glovebox::sessions
