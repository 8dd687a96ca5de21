// process.Process, what is asked of a process that runs: which there are, input, signals, the size
// of a terminal.
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <utility>

#include "dialects/e2b/envd/connect.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/envd/process_json.h"
#include "dialects/e2b/envd/process_registry.h"
#include "dialects/e2b/agent_access.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/process_label.h"
#include "wire/json/strict_json.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using Done = tl::expected<void, Failure>;

constexpr std::chrono::seconds kInputWithin{20};
constexpr std::size_t kMaxEnvelope = 4u << 20;
// Clients say every 50 s that they are still there.
constexpr std::chrono::seconds kSilent{120};

tl::unexpected<Failure> refuse_process(Code code, std::string message) {
  return tl::unexpected(Failure{code, std::move(message)});
}

struct Target {
  json::value message;
  node::ProcessInfo process;
};

tl::expected<Target, Failure> find_target(routing::App& app, const Request& request,
                                          const node::Session& session) {
  auto message = read_message(request);
  if (!message) return tl::unexpected(failure_of(message.error()));
  Target target;
  target.message = std::move(*message);
  const auto selector = read_selector(target.message);
  if (!selector) return tl::unexpected(failure_of(selector.error()));
  auto process = ProcessRegistry::of(app).find_running(session, *selector);
  if (!process) return refuse_process(Code::kNotFound, not_found_message(*selector));
  target.process = std::move(*process);
  return target;
}

Response answer_of(const Done& done) {
  if (!done) return failure_response(done.error());
  return message_response({});
}

json::object described(const node::ProcessInfo& process) {
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

asio::awaitable<Done> give(routing::App& app, std::shared_ptr<node::Session> session,
                           node::ProcessInfo process, ProcessInput input) {
  if (input.is_terminal && !process.terminal) {
    co_return refuse_process(Code::kInternal, "the process has no pty");
  }
  if (!input.is_terminal && process.terminal) {
    co_return refuse_process(Code::kInternal, "the process has a pty: its input goes there, not to stdin");
  }
  const auto pump = app.inputs.of(session, process.number);
  const auto deadline = Clock::now() + kInputWithin;
  const auto pushed = co_await pump->push(std::move(input.bytes), deadline);
  if (pushed == sessions::InputPump::Pushed::kNoRoom) {
    co_return refuse_process(Code::kResourceExhausted, "the process does not read what was sent before");
  }
  bool is_closed = pushed == sessions::InputPump::Pushed::kClosed;
  // What it has not read by then is on its way.
  if (!is_closed && !co_await pump->drained(deadline)) is_closed = pump->is_closed();
  if (is_closed) co_return refuse_process(Code::kInternal, "stdin is not open");
  co_return Done();
}

// The envelopes of a body, one after the other as they come.
class Envelopes {
 public:
  explicit Envelopes(http::BodyStream& body) : body_(body) {}

  // Nothing: it was the last one.
  Task<std::optional<json::value>> next() {
    // Many small ones are there at once, and others wait for this thread.
    if (++given_ % kAtOnce == 0) {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    }
    while (true) {
      CO_TRY(const auto size, size_of_next());
      if (size && bytes_.size() - at_ - kEnvelopeHead >= *size) {
        const std::string_view payload = std::string_view(bytes_).substr(at_ + kEnvelopeHead, *size);
        at_ += kEnvelopeHead + *size;
        CO_TRY(json::value message, wire::parse_strict_json(payload));
        co_return std::optional<json::value>(std::move(message));
      }
      bytes_.erase(0, std::exchange(at_, 0));
      CO_TRY(const std::size_t got, co_await body_.read_some(buffer_, sizeof buffer_));
      if (got == 0) break;
      bytes_.append(buffer_, got);
    }
    if (!bytes_.empty()) co_return fail(Errc::kInvalidArgument, "an envelope is not whole");
    co_return std::optional<json::value>();
  }

 private:
  static constexpr std::size_t kAtOnce = 16;

  Result<std::optional<std::size_t>> size_of_next() const {
    const std::string_view rest = std::string_view(bytes_).substr(at_);
    if (rest.size() < kEnvelopeHead) return std::nullopt;
    if (rest[0] != 0) return fail(Errc::kInvalidArgument, "an envelope is compressed, or an end");
    std::size_t size = 0;
    for (std::size_t i = 1; i < kEnvelopeHead; ++i) {
      size = size << 8 | static_cast<unsigned char>(rest[i]);
    }
    if (size > kMaxEnvelope) return fail(Errc::kInvalidArgument, "an envelope is too large");
    return std::optional(size);
  }

  http::BodyStream& body_;
  std::string bytes_;
  std::size_t at_ = 0;  // all before was given
  std::size_t given_ = 0;
  char buffer_[16 * 1024];
};

const json::value* part(const json::value& message, std::string_view name) {
  const json::object* object = message.if_object();
  const json::value* value = object == nullptr ? nullptr : object->if_contains(name);
  return value == nullptr || value->is_null() ? nullptr : value;
}

// Looked for once; afterwards only by its number.
tl::expected<node::ProcessInfo, Failure> find_started(routing::App& app, const node::Session& session,
                                                      const json::value& start) {
  const auto selector = read_selector(start);
  if (!selector) return tl::unexpected(failure_of(selector.error()));
  auto process = ProcessRegistry::of(app).find_running(session, *selector);
  if (!process) return refuse_process(Code::kNotFound, not_found_message(*selector));
  return std::move(*process);
}

asio::awaitable<Done> take_stream(routing::App& app, Request& request,
                                  std::shared_ptr<node::Session> session) {
  Envelopes envelopes(*request.body_stream);
  std::optional<node::ProcessInfo> process;
  while (true) {
    auto message = co_await envelopes.next();
    if (!message) co_return tl::unexpected(failure_of(message.error()));
    if (!*message) co_return Done();
    const json::value* start = part(**message, "start");
    if ((start != nullptr) == process.has_value()) {
      if (start != nullptr) co_return refuse_process(Code::kInvalidArgument, "start comes once");
      co_return refuse_process(Code::kInvalidArgument, "the first message must be start");
    }
    if (start != nullptr) {
      auto found = find_started(app, *session, *start);
      if (!found) co_return tl::unexpected(found.error());
      process = std::move(*found);
      continue;
    }
    const json::value* data = part(**message, "data");
    if (data == nullptr) continue;
    auto input = read_input(*data);
    if (!input) co_return tl::unexpected(failure_of(input.error()));
    const auto now = session->find_process(process->number);
    if (!now || now->ended) {
      co_return refuse_process(Code::kNotFound, not_found_message({process->pid, {}}));
    }
    const Done given = co_await give(app, session, *process, std::move(*input));
    if (!given) co_return given;
  }
}

}  // namespace

Task<Response> process_list(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  json::array all;
  for (const node::ProcessInfo& process : gate.session->processes()) {
    if (process.ended || process.kind != wire::ProcessKind::kProgram) continue;
    all.push_back(described(process));
  }
  json::object message;
  message["processes"] = std::move(all);
  co_return message_response(message);
}

Task<Response> process_send_input(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto target = find_target(app, request, *gate.session);
  if (!target) co_return failure_response(target.error());
  auto input = read_input(target->message);
  if (!input) co_return failure_response(failure_of(input.error()));
  request.body = std::string();  // it can be large
  const Done done = co_await give(app, gate.session, target->process, std::move(*input));
  co_return answer_of(done);
}

Task<Response> process_stream_input(routing::App& app, Request& request, ResponseWriter& writer) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  request.body_stream->patience = kSilent;
  const Done done = co_await take_stream(app, request, gate.session);
  MessageStream stream(writer);
  if (!co_await stream.begin()) co_return Response::streamed();
  if (!done) {
    co_await stream.fail(done.error());
  } else if (co_await stream.send({})) {
    co_await stream.finish();
  }
  co_return Response::streamed();
}

Task<Response> process_close_stdin(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto target = find_target(app, request, *gate.session);
  if (!target) co_return failure_response(target.error());
  if (target->process.terminal) {
    const Failure failure{Code::kUnknown, "the input of a pty cannot be closed"};
    co_return failure_response(failure);
  }
  const auto pump = app.inputs.of(gate.session, target->process.number);
  pump->close_input();
  co_await pump->drained(Clock::now() + kInputWithin);
  co_return message_response({});
}

Task<Response> process_send_signal(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto target = find_target(app, request, *gate.session);
  if (!target) co_return failure_response(target.error());
  const auto signal = read_signal(target->message);
  if (!signal) {
    const Failure failure{Code::kUnimplemented, "signal: SIGNAL_SIGTERM or SIGNAL_SIGKILL"};
    co_return failure_response(failure);
  }
  const auto sent = gate.session->signal(target->process.number, *signal, true);
  if (!sent) co_return failure_response(failure_of(sent.error()));
  if (*signal == SIGKILL) ProcessRegistry::of(app).hurry(*gate.session, target->process.number);
  co_return message_response({});
}

Task<Response> process_update(routing::App& app, Request& request, ResponseWriter&) {
  Gate gate = co_await enter(app, request, Token::kNeeded);
  if (gate.refusal) co_return std::move(*gate.refusal);
  auto target = find_target(app, request, *gate.session);
  if (!target) co_return failure_response(target.error());
  const auto size = read_terminal(target->message);
  if (!size) co_return failure_response(failure_of(size.error()));
  if (!*size) co_return message_response({});
  if (!target->process.terminal) {
    const Failure failure{Code::kInternal, "the process has no pty"};
    co_return failure_response(failure);
  }
  const auto resized = gate.session->resize(target->process.number, **size);
  if (!resized) co_return failure_response(failure_of(resized.error()));
  co_return message_response({});
}

}  // namespace glovebox::e2b
