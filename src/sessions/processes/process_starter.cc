#include "sessions/processes/process_starter.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cerrno>
#include <utility>

#include "model/program_refusal.h"
#include "sessions/processes/image_defaults.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::sessions {
namespace {

using Clock = std::chrono::steady_clock;

// Ended processes that no client has deleted.
constexpr std::size_t kMaxRemembered = 64;

void forget_oldest(node::Session& session) {
  std::vector<wire::ProcessNumber> ended;
  for (const node::ProcessInfo& process : session.processes()) {
    const bool is_program = process.kind == wire::ProcessKind::kProgram;
    if (is_program && process.ended && !process.attached) ended.push_back(process.number);
  }
  if (ended.size() < kMaxRemembered) return;
  std::sort(ended.begin(), ended.end());
  for (std::size_t i = 0; i + kMaxRemembered <= ended.size(); ++i) {
    (void)session.forget(ended[i]);
  }
}

// The caller chose the program, the directory and the user. The result has a sys_errno only if it
// is the program: see ProcessStarter::start_exec().
Error as_refusal(const Error& error, const ExecRequest& request) {
  const int number = error.sys_errno();
  const std::string& message = error.message();
  if (message.starts_with(std::string(wire::kExecuteStep) + ":")) {
    const std::string program = request.argv.empty() ? "/bin/sh" : request.argv.front();
    if (auto refused = refuse_to_execute(program, number)) return *refused;
  }
  if (message.starts_with("no such user")) {
    return Error(Errc::kInvalidArgument, "user: there is no user \"" + request.user + "\" inside");
  }
  const bool theirs = error.code() == Errc::kNotFound || error.code() == Errc::kPermissionDenied ||
                      error.code() == Errc::kInvalidArgument;
  if (!theirs) return error;
  const std::string step(wire::kEnterDirectoryStep);
  const bool is_directory = message.starts_with(step + ":");
  return Error(
      Errc::kInvalidArgument,
      "cannot start: " +
          (is_directory ? step + " " + request.cwd + message.substr(step.size()) : message));
}

// `claim` counts the bytes for as long as they are held here.
asio::awaitable<void> write_and_close(std::shared_ptr<node::Session> session,
                                      wire::ProcessNumber process, std::string bytes,
                                      std::shared_ptr<void>) {
  // It is no error if a program does not read its input.
  const auto written =
      co_await session->write_input(process, wire::Stream::kStdin, std::move(bytes));
  if (!written) co_return;
  (void)co_await session->close_input(process, wire::Stream::kStdin);
}

}  // namespace

Task<node::Session::Started> ProcessStarter::start(std::shared_ptr<node::Session> session,
                                                   node::ProcessSpec spec,
                                                   node::Session::Attach attach, std::string line) {
  OomKillCounter::Mark mark = co_await oom_kills_.mark(session->id());
  forget_oldest(*session);
  CO_TRY(node::Session::Started started, co_await session->start(std::move(spec), attach));
  oom_kills_.began(session->id(), started.info.number, std::move(mark));
  sessions_.note(session->id(), "started", line.substr(0, 200), started.info.number);
  co_return started;
}

Task<node::Session::Started> ProcessStarter::start_exec(std::shared_ptr<node::Session> session,
                                                        ExecRequest request, ExecKind kind) {
  std::string line = request.cmd;
  for (const std::string& word : request.argv) line += (line.empty() ? "" : " ") + word;
  const auto attach =
      kind == ExecKind::kBackground ? node::Session::Attach::kNo : node::Session::Attach::kYes;
  const Shell shells[] = {Shell::kBash, Shell::kSh};
  Result<node::Session::Started> started = fail(Errc::kInternal, "nothing was started");
  use_image_defaults(request, sessions_.environment(session->id()));
  for (const Shell shell : shells) {
    node::ProcessSpec spec = process_spec(request, sessions_.environment(session->id()), shell);
    // Clients may write to a background process or a stream later.
    spec.has_stdin = request.stdin_bytes.has_value() || kind != ExecKind::kCollect;
    spec.lossy = kind == ExecKind::kBackground;
    started = co_await start(session, std::move(spec), attach, line);
    // The sandbox may have no bash. (If the directory or user is missing, sh fails the same way.)
    if (started || request.cmd.empty() || started.error().code() != Errc::kNotFound) break;
  }
  if (!started) co_return fail(as_refusal(started.error(), request));
  co_return std::move(*started);
}

Clock::time_point deadline_of(const ExecRequest& request, std::chrono::milliseconds otherwise) {
  const auto timeout = request.timeout.value_or(otherwise);
  return timeout.count() == 0 ? Clock::time_point::max() : Clock::now() + timeout;
}

void ProcessStarter::feed_stdin(std::shared_ptr<node::Session> session, wire::ProcessNumber process,
                                std::string bytes, std::shared_ptr<void> claim) {
  auto writing = write_and_close(std::move(session), process, std::move(bytes), std::move(claim));
  asio::co_spawn(io_, std::move(writing), asio::detached);
}

Result<std::shared_ptr<void>> ProcessStarter::claim_stdin(const std::string& owner,
                                                          const std::optional<std::string>& given) {
  std::shared_ptr<void> claim = memory_budget_.claim(owner, given ? given->size() : 0);
  if (claim) return claim;
  return fail(Errc::kResourceExhausted, "too much input is waiting to be read; try again later");
}

}  // namespace glovebox::sessions
