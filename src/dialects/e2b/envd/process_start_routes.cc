#include "dialects/e2b/envd/process_start_routes.h"

#include <algorithm>
#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "http/router.h"
#include "routing/large_requests.h"
#include "sessions/processes/process_label.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// A failure is the only message of the stream.
Task<Response> refuse_stream(ResponseWriter& writer, ConnectError failure) {
  MessageStream stream(writer);
  if (co_await stream.begin()) co_await stream.fail(std::move(failure));
  co_return Response::streamed();
}

struct StreamTiming {
  Clock::time_point deadline = Clock::time_point::max();
  std::chrono::milliseconds keepalive{};
  bool kills_process = false;  // at the deadline
};

StreamTiming timing_of(const Request& request) {
  StreamTiming timing;
  timing.keepalive = keepalive_of(request);
  if (const auto timeout = timeout_of(request)) timing.deadline = Clock::now() + *timeout;
  return timing;
}

// One client's stream, from its first event to its last.
class EventStream {
 public:
  EventStream(ResponseWriter& writer, std::shared_ptr<Follower> follower, StreamTiming timing)
      : stream_(writer), writer_(writer), follower_(std::move(follower)), timing_(timing) {}

  Task<Response> run() {
    bool there = co_await stream_.begin();
    if (there) there = co_await send_event(start_event(process().pid()));
    while (there) {
      Follower::Event event =
          co_await follower_->next(std::min(timing_.deadline, last_sent_ + timing_.keepalive));
      if (const auto* message = std::get_if<Follower::Message>(&event)) {
        there = co_await writer_.write_view(*message->bytes);
        last_sent_ = Clock::now();
      } else if (const auto* ended = std::get_if<Follower::Ended>(&event)) {
        // A process that ended in time has ended, however late the client reads that.
        if (timing_.kills_process && process().timed_out()) break;
        co_return co_await finish(ended->end);
      } else if (const auto* cut = std::get_if<Follower::Cut>(&event)) {
        const bool is_gone = !process().session()->alive() || process().session()->paused();
        // Without an end-of-stream message: clients take that for the end of the sandbox.
        if (is_gone) co_return fail(Errc::kUnavailable, cut->why);
        co_return co_await refuse(Code::kUnavailable, cut->why);
      } else if (std::holds_alternative<Follower::TakenOver>(event)) {
        co_return co_await refuse(Code::kFailedPrecondition, "another reader took over");
      } else if (std::holds_alternative<Follower::TooSlow>(event)) {
        co_return co_await refuse(
            Code::kResourceExhausted,
            "the client reads too slowly, and other clients follow this process");
      } else if (std::holds_alternative<Follower::Left>(event)) {
        co_return Response::streamed();
      }
      const Clock::time_point now = Clock::now();
      if (now >= timing_.deadline) break;
      if (there && now >= last_sent_ + timing_.keepalive)
        there = co_await send_event(keepalive_event());
    }
    if (!there) co_return Response::streamed();
    co_return co_await refuse(Code::kDeadlineExceeded, "deadline exceeded");
  }

 private:
  ProcessFollowers& process() { return follower_->process(); }

  asio::awaitable<bool> send_event(std::string event) {
    last_sent_ = Clock::now();
    std::string bytes = envelope(event, 0);
    co_return co_await writer_.write(std::move(bytes));
  }

  Task<Response> finish(wire::ProcessEnd end) {
    std::string bytes = envelope(end_event(end), 0) + envelope("{}", kEndOfStream);
    if (co_await writer_.write(std::move(bytes))) co_await writer_.finish();
    co_return Response::streamed();
  }

  Task<Response> refuse(Code code, std::string message) {
    ConnectError failure{code, std::move(message)};
    co_await stream_.fail(std::move(failure));
    co_return Response::streamed();
  }

  MessageStream stream_;
  ResponseWriter& writer_;
  std::shared_ptr<Follower> follower_;
  const StreamTiming timing_;
  Clock::time_point last_sent_ = Clock::now();
};

Task<Response> stream_to(Request& request, ResponseWriter& writer,
                         std::shared_ptr<Follower> follower, StreamTiming timing) {
  if (!follower) {
    ConnectError too_many{Code::kResourceExhausted, "too many clients follow this process"};
    co_return co_await refuse_stream(writer, std::move(too_many));
  }
  request.on_disconnect([weak = std::weak_ptr<Follower>(follower)] {
    if (const auto there = weak.lock()) there->leave();
  });
  EventStream stream(writer, std::move(follower), timing);
  co_return co_await stream.run();
}

sessions::ProcessLabel label_of(const StartRequest& start, const std::string& user,
                                const std::string& cwd) {
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

}  // namespace

std::span<const routing::RouteRow<ProcessStartRoutes>> ProcessStartRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ProcessStartRoutes> kRows[] = {
      {Method::kPost, "/process.Process/Start", Access::kOpen, &ProcessStartRoutes::start,
       "Start a process and follow its output", http::kDefaultBodyLimit},
      {Method::kPost, "/process.Process/Connect", Access::kOpen, &ProcessStartRoutes::connect,
       "Follow the output of a process"},
  };
  return kRows;
}

node::ProcessSpec ProcessStartRoutes::spec_of(
    const node::Session& session, StartRequest start, std::string user, std::string cwd,
    std::optional<std::chrono::milliseconds> timeout) const {
  sessions::ProcessLabel label = label_of(start, user, cwd);
  if (timeout) label.deadline_ms = label.created_ms + timeout->count();
  node::ProcessSpec spec;
  spec.label = sessions::encode_label(label);
  spec.exec.argv = std::move(start.args);
  spec.exec.argv.insert(spec.exec.argv.begin(), std::move(start.cmd));
  spec.exec.env =
      command_environment(session, user, deps_.sessions.environment(session.id()), start.envs);
  spec.exec.workdir = std::move(cwd);
  spec.exec.terminal = start.terminal;
  spec.user = std::move(user);
  spec.has_stdin = start.has_stdin;
  return spec;
}

asio::awaitable<ProcessStartRoutes::Followed> ProcessStartRoutes::start_and_follow(
    Request& request, std::shared_ptr<node::Session> session) {
  auto parse = [enveloped = has_envelope(request)](std::string_view body) -> Result<StartRequest> {
    TRY(json::object message, read_message(body, enveloped));
    return read_start(json::value(std::move(message)));
  };
  auto start = co_await routing::parse_body(deps_.worker, request, parse);
  if (!start) co_return tl::unexpected(failure_of(start.error()));
  const auto user = user_for(request);
  if (!user) co_return tl::unexpected(ConnectError{Code::kUnauthenticated, "invalid username"});
  const std::string asked = start->cwd;
  auto cwd = directory_of(asked, *user);
  if (!cwd) co_return tl::unexpected(failure_of(cwd.error()));
  std::string line = sessions::shown_command(label_of(*start, *user, *cwd));
  node::ProcessSpec spec = spec_of(*session, std::move(*start), *user, *cwd, timeout_of(request));
  auto started = co_await deps_.starter.start(session, std::move(spec), node::Session::Attach::kYes,
                                              std::move(line));
  if (!started) co_return tl::unexpected(start_failure(started.error(), *user, asked));
  co_return deps_.registry.follow(session, std::move(*started));
}

Task<Response> ProcessStartRoutes::start(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  StreamTiming timing = timing_of(request);
  timing.kills_process = true;
  Followed followed = co_await start_and_follow(request, admission.session);
  if (followed) co_return co_await stream_to(request, writer, std::move(*followed), timing);
  if (!admission.session->alive()) {
    // The sandbox has ended meanwhile: the refusal of its absence.
    AgentAccess::Admission again = co_await deps_.access.admit(request, AccessToken::kRequired);
    if (again.refusal) co_return std::move(*again.refusal);
  }
  co_return co_await refuse_stream(writer, std::move(followed.error()));
}

Task<Response> ProcessStartRoutes::connect(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  const StreamTiming timing = timing_of(request);
  auto message = read_message(request);
  const json::value document(message ? std::move(*message) : json::object());
  auto selector = read_selector(document);
  if (!message || !selector) {
    ConnectError failure = failure_of(message ? selector.error() : message.error());
    co_return co_await refuse_stream(writer, std::move(failure));
  }
  if (const auto process = deps_.registry.find_running(*admission.session, *selector)) {
    auto follower = deps_.registry.followers_of(admission.session, *process)->follow();
    co_return co_await stream_to(request, writer, std::move(follower), timing);
  }
  if (const auto ended = deps_.registry.find_ended(*admission.session, *selector)) {
    MessageStream stream(writer);
    std::string bytes = envelope(start_event(ended->pid), 0) + envelope(end_event(ended->end), 0);
    if (co_await stream.begin() && co_await writer.write(std::move(bytes))) {
      co_await stream.finish();
    }
    co_return Response::streamed();
  }
  ConnectError failure{Code::kNotFound, not_found_message(*selector)};
  co_return co_await refuse_stream(writer, std::move(failure));
}

}  // namespace glovebox::e2b
