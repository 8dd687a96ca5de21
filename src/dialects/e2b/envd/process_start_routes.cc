// process.Process/Start and Connect: a process, new or not, and its output as a stream of events.
// The client may leave when it likes; what it started goes on.
#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/envd/process_registry.h"
#include "dialects/e2b/envd/process_json.h"
#include "sessions/processes/start_process.h"
#include "sessions/processes/process_label.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// The answer of a stream that does not even begin.
Task<Response> refuse_stream(ResponseWriter& writer, Failure failure) {
  MessageStream stream(writer);
  if (co_await stream.begin()) co_await stream.fail(std::move(failure));
  co_return Response::streamed();
}

struct Pace {
  Clock::time_point deadline = Clock::time_point::max();
  std::chrono::milliseconds keepalive{};
  bool is_the_commands = false;  // the deadline, and the command is killed then
};

Pace pace_of(const Request& request) {
  Pace pace;
  pace.keepalive = keepalive_of(request);
  if (const auto timeout = timeout_of(request)) pace.deadline = Clock::now() + *timeout;
  return pace;
}

// One client's stream, from its first event to its last.
class EventStream {
 public:
  EventStream(ResponseWriter& writer, std::shared_ptr<Follower> follower, Pace pace)
      : stream_(writer), writer_(writer), follower_(std::move(follower)), pace_(pace) {}

  Task<Response> run() {
    bool there = co_await stream_.begin();
    if (there) there = co_await say(start_event(hub().pid()));
    while (there) {
      Follower::Event event =
          co_await follower_->next(std::min(pace_.deadline, said_ + pace_.keepalive));
      if (const auto* message = std::get_if<Follower::Message>(&event)) {
        there = co_await writer_.write_view(*message->bytes);
        said_ = Clock::now();
      } else if (const auto* ended = std::get_if<Follower::Ended>(&event)) {
        // One that ended in time is told, however late the client hears it.
        if (pace_.is_the_commands && hub().timed_out()) break;
        co_return co_await finish(ended->end);
      } else if (const auto* cut = std::get_if<Follower::Cut>(&event)) {
        const bool is_gone = !hub().session()->alive() || hub().session()->paused();
        // Without a last word: by that clients know that the sandbox is gone.
        if (is_gone) co_return fail(Errc::kUnavailable, cut->why);
        co_return co_await refuse(Code::kUnavailable, cut->why);
      } else if (std::holds_alternative<Follower::TakenOver>(event)) {
        co_return co_await refuse(Code::kFailedPrecondition, "another reader took over");
      } else if (std::holds_alternative<Follower::TooSlow>(event)) {
        co_return co_await refuse(Code::kResourceExhausted, "too slow: others follow it, too");
      } else if (std::holds_alternative<Follower::Left>(event)) {
        co_return Response::streamed();
      }
      const Clock::time_point now = Clock::now();
      if (now >= pace_.deadline) break;
      if (there && now >= said_ + pace_.keepalive) there = co_await say(keepalive_event());
    }
    if (!there) co_return Response::streamed();
    co_return co_await refuse(Code::kDeadlineExceeded, "the time is over");
  }

 private:
  ProcessFollowers& hub() { return follower_->hub(); }

  asio::awaitable<bool> say(std::string event) {
    said_ = Clock::now();
    std::string bytes = envelope(event, 0);
    co_return co_await writer_.write(std::move(bytes));
  }

  Task<Response> finish(wire::ProcessEnd end) {
    std::string bytes = envelope(end_event(end), 0) + envelope("{}", kEndOfStream);
    if (co_await writer_.write(std::move(bytes))) co_await writer_.finish();
    co_return Response::streamed();
  }

  Task<Response> refuse(Code code, std::string message) {
    Failure failure{code, std::move(message)};
    co_await stream_.fail(std::move(failure));
    co_return Response::streamed();
  }

  MessageStream stream_;
  ResponseWriter& writer_;
  std::shared_ptr<Follower> follower_;
  const Pace pace_;
  Clock::time_point said_ = Clock::now();
};

Task<Response> stream_to(Request& request, ResponseWriter& writer,
                         std::shared_ptr<Follower> follower, Pace pace) {
  if (!follower) {
    Failure many{Code::kResourceExhausted, "too many follow this process"};
    co_return co_await refuse_stream(writer, std::move(many));
  }
  request.on_disconnect([weak = std::weak_ptr<Follower>(follower)] {
    if (const auto there = weak.lock()) there->leave();
  });
  EventStream stream(writer, std::move(follower), pace);
  co_return co_await stream.run();
}

sessions::ProcessLabel label_of(const StartRequest& start, const std::string& user, const std::string& cwd) {
  sessions::ProcessLabel label;
  label.cmd = start.cmd;
  label.args = start.args;
  label.envs = start.envs;
  label.tag = start.tag;
  label.user = user;
  label.cwd = cwd;
  label.created_ms = wall_clock_ms();
  return label;
}

node::ProcessSpec spec_of(routing::App& app, const node::Session& session, StartRequest start, std::string user,
                          std::string cwd, std::optional<std::chrono::milliseconds> timeout) {
  sessions::ProcessLabel label = label_of(start, user, cwd);
  if (timeout) label.deadline_ms = label.created_ms + timeout->count();
  node::ProcessSpec spec;
  spec.label = sessions::encode_label(label);
  spec.exec.argv = std::move(start.args);
  spec.exec.argv.insert(spec.exec.argv.begin(), std::move(start.cmd));
  spec.exec.env =
      command_environment(session, user, app.sessions.environment(session.id()), start.envs);
  spec.exec.workdir = std::move(cwd);
  spec.exec.terminal = start.terminal;
  spec.user = std::move(user);
  spec.has_stdin = start.has_stdin;
  return spec;
}

using Followed = tl::expected<std::shared_ptr<Follower>, Failure>;

asio::awaitable<Followed> start_and_follow(routing::App& app, const Request& request,
                                           std::shared_ptr<node::Session> session) {
  auto message = read_message(request);
  if (!message) co_return tl::unexpected(failure_of(message.error()));
  const json::value document(std::move(*message));
  auto start = read_start(document);
  if (!start) co_return tl::unexpected(failure_of(start.error()));
  const auto user = user_for(request);
  if (!user) co_return tl::unexpected(Failure{Code::kUnauthenticated, "invalid username"});
  const std::string asked = start->cwd;
  auto cwd = directory_of(asked, *user);
  if (!cwd) co_return tl::unexpected(failure_of(cwd.error()));
  std::string line = sessions::shown_command(label_of(*start, *user, *cwd));
  node::ProcessSpec spec =
      spec_of(app, *session, std::move(*start), *user, *cwd, timeout_of(request));
  auto started = co_await sessions::start_process(app, session, std::move(spec), node::Session::Attach::kYes,
                                        std::move(line));
  if (!started) co_return tl::unexpected(start_failure(started.error(), *user, asked));
  co_return ProcessRegistry::of(app).follow(session, std::move(*started));
}

}  // namespace

Task<Response> process_start(routing::App& app, Request& request, ResponseWriter& writer) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  Pace pace = pace_of(request);
  pace.is_the_commands = true;
  Followed followed = co_await start_and_follow(app, request, gate.session);
  if (followed) co_return co_await stream_to(request, writer, std::move(*followed), pace);
  if (!gate.session->alive()) {
    Gate again = co_await enter(app, request, Token::kNeeded);  // says how that is said
    if (again.refusal) co_return std::move(*again.refusal);
  }
  co_return co_await refuse_stream(writer, std::move(followed.error()));
}

Task<Response> process_connect(routing::App& app, Request& request, ResponseWriter& writer) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  const Pace pace = pace_of(request);
  auto message = read_message(request);
  const json::value document(message ? std::move(*message) : json::object());
  auto selector = read_selector(document);
  if (!message || !selector) {
    Failure failure = failure_of(message ? selector.error() : message.error());
    co_return co_await refuse_stream(writer, std::move(failure));
  }
  ProcessRegistry& hubs = ProcessRegistry::of(app);
  if (const auto process = hubs.find_running(*gate.session, *selector)) {
    auto follower = hubs.hub(gate.session, *process)->follow();
    co_return co_await stream_to(request, writer, std::move(follower), pace);
  }
  if (const auto ended = hubs.find_ended(*gate.session, *selector)) {
    MessageStream stream(writer);
    std::string bytes = envelope(start_event(ended->pid), 0) + envelope(end_event(ended->end), 0);
    if (co_await stream.begin() && co_await writer.write(std::move(bytes))) {
      co_await stream.finish();
    }
    co_return Response::streamed();
  }
  Failure failure{Code::kNotFound, not_found_message(*selector)};
  co_return co_await refuse_stream(writer, std::move(failure));
}

}  // namespace glovebox::e2b
