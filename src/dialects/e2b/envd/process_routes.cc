#include "dialects/e2b/envd/process_routes.h"

#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <utility>

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

constexpr std::chrono::seconds kInputTimeout{20};
constexpr std::size_t kMaxEnvelope = 4u << 20;
// Clients send a keepalive every 50 s.
constexpr std::chrono::seconds kMaxSilence{120};

tl::unexpected<ConnectError> refuse_process(Code code, std::string message) {
  return tl::unexpected(ConnectError{code, std::move(message)});
}

json::object process_description(const node::ProcessInfo& process) {
  const sessions::ProcessLabel label = sessions::decode_label(process.label);
  json::object envs;
  for (const std::string& variable : label.envs) {
    const std::size_t equals = variable.find('=');
    envs[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  json::object config{{"cmd", label.cmd},
                      {"args", json::array(label.args.begin(), label.args.end())}};
  config["envs"] = std::move(envs);
  if (!label.cwd.empty()) config["cwd"] = label.cwd;
  json::object object{{"pid", process.pid}, {"config", std::move(config)}};
  if (!label.tag.empty()) object["tag"] = label.tag;
  return object;
}

// The envelopes of a streamed body, in the order of arrival.
class EnvelopeReader {
 public:
  explicit EnvelopeReader(http::BodyStream& body) : body_(body) {}

  // The text of the next message, valid until the next call. Nothing: the body has ended.
  Task<std::optional<std::string_view>> next() {
    // Many small ones can be there at once, while other requests wait for this thread.
    if (++returned_ % kWithoutYield == 0) {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
    while (true) {
      CO_TRY(const auto size, size_of_next());
      if (size && bytes_.size() - at_ - kEnvelopeHead >= *size) {
        const std::string_view payload =
            std::string_view(bytes_).substr(at_ + kEnvelopeHead, *size);
        at_ += kEnvelopeHead + *size;
        co_return std::optional<std::string_view>(payload);
      }
      bytes_.erase(0, std::exchange(at_, 0));
      CO_TRY(const std::size_t got, co_await body_.read_some(buffer_, sizeof buffer_));
      if (got == 0) break;
      bytes_.append(buffer_, got);
    }
    if (!bytes_.empty()) co_return fail(Errc::kInvalidArgument, "incomplete envelope");
    co_return std::optional<std::string_view>();
  }

 private:
  static constexpr std::size_t kWithoutYield = 16;

  Result<std::optional<std::size_t>> size_of_next() const {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    if (rest.size() < kEnvelopeHead) return std::nullopt;
    if (rest[0] != 0)
      return fail(Errc::kInvalidArgument,
                  "compressed and end-of-stream envelopes are not supported");
    std::size_t size = 0;
    for (std::size_t i = 1; i < kEnvelopeHead; ++i) {
      size = size << 8 | static_cast<unsigned char>(rest[i]);
    }
    if (size > kMaxEnvelope) return fail(Errc::kInvalidArgument, "envelope too large");
    return std::optional(size);
  }

  http::BodyStream& body_;
  std::string bytes_;
  std::size_t at_ = 0;  // everything before it was returned
  std::size_t returned_ = 0;
  char buffer_[16 * 1024];
};

}  // namespace

std::span<const routing::RouteRow<ProcessRoutes>> ProcessRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ProcessRoutes> kRows[] = {
      {Method::kPost, "/process.Process/List", Access::kOpen, &ProcessRoutes::list,
       "List the processes of a sandbox"},
      {Method::kPost, "/process.Process/SendInput", Access::kOpen, &ProcessRoutes::send_input,
       "Write to a process", http::kDefaultBodyLimit},
      {Method::kPost, "/process.Process/StreamInput", Access::kOpen, &ProcessRoutes::stream_input,
       "Stream input to a process", 0, nullptr, true},
      {Method::kPost, "/process.Process/CloseStdin", Access::kOpen, &ProcessRoutes::close_stdin,
       "Close the stdin of a process"},
      {Method::kPost, "/process.Process/SendSignal", Access::kOpen, &ProcessRoutes::send_signal,
       "Send a signal to a process"},
      {Method::kPost, "/process.Process/Update", Access::kOpen, &ProcessRoutes::update,
       "Change the size of a terminal"},
  };
  return kRows;
}

tl::expected<node::ProcessInfo, ConnectError> ProcessRoutes::find_selected(
    const node::Session& session, const ProcessSelector& selector) {
  auto process = deps_.registry.find_running(session, selector);
  if (!process) return refuse_process(Code::kNotFound, not_found_message(selector));
  return std::move(*process);
}

tl::expected<ProcessRoutes::Target, ConnectError> ProcessRoutes::find_target(
    const Request& request, const node::Session& session) {
  auto message = read_message(request);
  if (!message) return tl::unexpected(failure_of(message.error()));
  Target target;
  target.message = std::move(*message);
  const auto selector = read_selector(target.message);
  if (!selector) return tl::unexpected(failure_of(selector.error()));
  auto process = find_selected(session, *selector);
  if (!process) return tl::unexpected(process.error());
  target.process = std::move(*process);
  return target;
}

asio::awaitable<ProcessRoutes::Done> ProcessRoutes::write_input(
    std::shared_ptr<node::Session> session, node::ProcessInfo process, ProcessInput input) {
  if (input.is_terminal && !process.terminal) {
    co_return refuse_process(Code::kInternal, "the process has no pty");
  }
  if (!input.is_terminal && process.terminal) {
    co_return refuse_process(Code::kInternal,
                             "the process has a pty: send its input as pty, not as stdin");
  }
  const auto pump = deps_.inputs.of(session, process.number);
  const auto deadline = Clock::now() + kInputTimeout;
  const auto pushed = co_await pump->push(std::move(input.bytes), deadline);
  if (pushed == sessions::InputPump::Pushed::kNoRoom) {
    co_return refuse_process(Code::kResourceExhausted, "the process does not read its input");
  }
  bool is_closed = pushed == sessions::InputPump::Pushed::kClosed;
  // Input that the process has not read by then is delivered later.
  if (!is_closed && !co_await pump->drained(deadline)) is_closed = pump->is_closed();
  if (is_closed) co_return refuse_process(Code::kInternal, "stdin is not open");
  co_return Done();
}

asio::awaitable<ProcessRoutes::Done> ProcessRoutes::read_stream(
    Request& request, std::shared_ptr<node::Session> session) {
  EnvelopeReader envelopes(*request.body_stream);
  std::optional<node::ProcessInfo> process;
  while (true) {
    auto text = co_await envelopes.next();
    if (!text) co_return tl::unexpected(failure_of(text.error()));
    if (!*text) co_return Done();
    auto message = co_await routing::parse_text(deps_.worker, request.owner, std::string(**text),
                                                read_stream_input);
    if (!message) co_return tl::unexpected(failure_of(message.error()));
    auto& [start, data] = *message;
    if (start.has_value() == process.has_value()) {
      if (start) co_return refuse_process(Code::kInvalidArgument, "start must be sent only once");
      co_return refuse_process(Code::kInvalidArgument, "the first message must be start");
    }
    if (start) {
      if (!*start) co_return tl::unexpected(failure_of(start->error()));
      auto found = find_selected(*session, **start);
      if (!found) co_return tl::unexpected(found.error());
      process = std::move(*found);
      continue;
    }
    if (!data) continue;
    if (!*data) co_return tl::unexpected(failure_of(data->error()));
    const auto current = session->find_process(process->number);
    if (!current || current->ended) {
      co_return refuse_process(Code::kNotFound, not_found_message({process->pid, {}}));
    }
    const Done written = co_await write_input(session, *process, std::move(**data));
    if (!written) co_return written;
  }
}

Task<Response> ProcessRoutes::list(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  json::array all;
  for (const node::ProcessInfo& process : admission.session->processes()) {
    if (process.ended || process.kind != wire::ProcessKind::kProgram) continue;
    all.push_back(process_description(process));
  }
  json::object message;
  message["processes"] = std::move(all);
  co_return message_response(message);
}

Task<Response> ProcessRoutes::send_input(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto parse = [enveloped =
                    has_envelope(request)](std::string_view body) -> Result<SendInputRequest> {
    TRY(json::object message, read_message(body, enveloped));
    return read_send_input(json::value(std::move(message)));
  };
  auto wanted = co_await routing::parse_body(deps_.worker, request, parse);
  if (!wanted) co_return failure_response(failure_of(wanted.error()));
  request.body = std::string();  // it can be large
  const auto process = find_selected(*admission.session, wanted->selector);
  if (!process) co_return failure_response(process.error());
  if (!wanted->input) co_return failure_response(failure_of(wanted->input.error()));
  const Done done = co_await write_input(admission.session, *process, std::move(*wanted->input));
  if (!done) co_return failure_response(done.error());
  co_return message_response({});
}

Task<Response> ProcessRoutes::stream_input(Request& request, ResponseWriter& writer) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  request.body_stream->patience = kMaxSilence;
  const Done done = co_await read_stream(request, admission.session);
  MessageStream stream(writer);
  if (!co_await stream.begin()) co_return Response::streamed();
  if (!done) {
    co_await stream.fail(done.error());
  } else if (co_await stream.send({})) {
    co_await stream.finish();
  }
  co_return Response::streamed();
}

Task<Response> ProcessRoutes::close_stdin(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto target = find_target(request, *admission.session);
  if (!target) co_return failure_response(target.error());
  if (target->process.terminal) {
    const ConnectError failure{Code::kUnknown, "the input of a pty cannot be closed"};
    co_return failure_response(failure);
  }
  const auto pump = deps_.inputs.of(admission.session, target->process.number);
  pump->close_input();
  co_await pump->drained(Clock::now() + kInputTimeout);
  co_return message_response({});
}

Task<Response> ProcessRoutes::send_signal(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto target = find_target(request, *admission.session);
  if (!target) co_return failure_response(target.error());
  const auto signal = read_signal(target->message);
  if (!signal) {
    const ConnectError failure{Code::kUnimplemented,
                               "signal: must be SIGNAL_SIGTERM or SIGNAL_SIGKILL"};
    co_return failure_response(failure);
  }
  const auto sent = admission.session->signal(target->process.number, *signal, true);
  if (!sent) co_return failure_response(failure_of(sent.error()));
  if (*signal == SIGKILL) {
    deps_.registry.drop_slow_followers(*admission.session, target->process.number);
  }
  co_return message_response({});
}

Task<Response> ProcessRoutes::update(Request& request, ResponseWriter&) {
  AgentAccess::Admission admission = co_await deps_.access.admit(request, AccessToken::kRequired);
  if (admission.refusal) co_return std::move(*admission.refusal);
  auto target = find_target(request, *admission.session);
  if (!target) co_return failure_response(target.error());
  const auto size = read_terminal(target->message);
  if (!size) co_return failure_response(failure_of(size.error()));
  if (!*size) co_return message_response({});
  if (!target->process.terminal) {
    const ConnectError failure{Code::kInternal, "the process has no pty"};
    co_return failure_response(failure);
  }
  const auto resized = admission.session->resize(target->process.number, **size);
  if (!resized) co_return failure_response(failure_of(resized.error()));
  co_return message_response({});
}

}  // namespace glovebox::e2b
