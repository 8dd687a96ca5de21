#include "api/routes/sandboxes/exec_stream_routes.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <csignal>
#include <utility>

#include "http/status.h"
#include "http/websocket/websocket.h"
#include "routing/refusals.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/signal_names.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"
#include "wire/runs/stream_text.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;
using http::WebSocket;
using node::Attachment;

// How long a stream that is silent may outlive its key.
constexpr std::chrono::seconds kLookAtKey{5};

class ExecStream {
 public:
  ExecStream(const ExecStreamRoutes::Dependencies& deps, const Request& request,
             std::shared_ptr<node::Session> session, WebSocket& socket)
      : deps_(deps),
        request_(request),
        session_(std::move(session)),
        socket_(socket),
        input_ended_(deps.io) {
    input_ended_.expires_at(Clock::time_point::max());
  }

  // Handles the first message. On failure the client has already received the error.
  asio::awaitable<bool> begin(std::string message) {
    auto begun = co_await begin_by(std::move(message));
    if (!begun) co_await send_error(begun.error());
    co_return begun.has_value();
  }

  asio::awaitable<void> run() {
    // Both directions run concurrently; this one waits for the other before it returns.
    is_reading_ = true;
    asio::co_spawn(deps_.io, read_input(), [this](const std::exception_ptr&) {
      is_reading_ = false;
      input_ended_.cancel();
    });
    std::exception_ptr thrown;
    try {
      co_await send_output();
    } catch (...) {
      thrown = std::current_exception();
    }
    // read_input() stays the only reader of the socket while it closes.
    stopping_ = true;
    pump_->release();
    co_await socket_.close(thrown ? http::close_code::kInternal : http::close_code::kNormal);
    while (is_reading_) co_await input_ended_.async_wait(kAwaitTuple);
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  Task<> begin_by(std::string message) {
    CO_TRY(const json::value document, wire::parse_strict_json(message));
    CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
    CO_TRY(const auto type, fields.text("type", 32));
    // {"cmd": …, "args": […]} without a type is a start: it says what to run and nothing else.
    if (type == "start" ||
        (!type && (fields.take("cmd") != nullptr || fields.take("argv") != nullptr))) {
      CO_TRY_OK(co_await start(fields));
    } else if (type == "attach") {
      CO_TRY_OK(co_await attach(fields));
    } else {
      co_return fields.bad(
          "type", "must be start or attach in the first message (or leave it out and give cmd)");
    }
    pump_ = deps_.inputs.of(session_, process_);
    if (!first_input_.empty()) co_await pump_->push(std::exchange(first_input_, {}));
    co_return Result<>();
  }

  Task<> start(wire::ObjectReader& fields) {
    CO_TRY(sessions::ExecRequest request, sessions::read_exec_request(fields));
    CO_TRY(const auto disconnect, fields.text("on_disconnect", 32));
    if (disconnect && disconnect != "keep" && disconnect != "kill") {
      co_return fields.bad("on_disconnect", "must be keep or kill");
    }
    if (request.background) co_return fields.bad("background", "cannot be combined with a stream");
    CO_TRY_OK(fields.finish());
    kills_ = disconnect == "kill";
    first_input_ = std::exchange(request.stdin_bytes, std::nullopt).value_or(std::string());
    deadline_ = sessions::deadline_of(request, std::chrono::milliseconds(0));
    CO_TRY(node::Session::Started started,
           co_await deps_.processes.start_exec(session_, std::move(request),
                                               sessions::ExecKind::kStream));
    attachment_ = std::move(started.attachment);
    process_ = started.info.number;
    co_await send_started(started.info.pid);
    co_return Result<>();
  }

  Task<> attach(wire::ObjectReader& fields) {
    constexpr std::uint64_t kMost = 1ull << 53;
    CO_TRY(const auto number, fields.whole("process", 0, kMost));
    CO_TRY(const auto out, fields.whole("stdout_from", 0, kMost));
    CO_TRY(const auto err, fields.whole("stderr_from", 0, kMost));
    CO_TRY(const auto disconnect, fields.text("on_disconnect", 32));
    if (disconnect && disconnect != "keep" && disconnect != "kill") {
      co_return fields.bad("on_disconnect", "must be keep or kill");
    }
    CO_TRY_OK(fields.finish());
    if (!number) co_return fields.bad("process", "is missing");
    const auto process = session_->find_process(*number);
    if (!process) co_return fail(Errc::kNotFound, "there is no such process");
    if (process->kind != wire::ProcessKind::kProgram) {
      co_return fail(Errc::kConflict, "the process belongs to a context; use POST …/code");
    }
    kills_ = disconnect == "kill";
    const node::AttachFrom from{.out = out.value_or(0), .err = err.value_or(0)};
    // Set before the first read: from now on no output is lost while this stream reads, even if
    // this server dies meanwhile.
    (void)session_->set_lossy(process->number, false);
    CO_TRY(attachment_, co_await session_->attach(process->number, from));
    process_ = process->number;
    out_.start_at(from.out);
    err_.start_at(from.err);
    co_await send_started(process->pid);
    co_return Result<>();
  }

  // ---- to the client -----------------------------------------------------------------------

  asio::awaitable<void> send_output() {
    bool there = true;
    while (there) {
      Attachment::Event event =
          co_await attachment_->next(std::min(deadline_, Clock::now() + kLookAtKey));
      if (!deps_.authenticator.principal_of(request_)) {  // its key was revoked meanwhile
        const Error why(Errc::kPermissionDenied, "the API key is no longer valid");
        co_await send_error(why, "unauthorized");
        break;
      }
      if (const auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
        const bool is_stderr = chunk->stream == wire::Stream::kStderr;
        const auto piece = (is_stderr ? err_ : out_).add(chunk->offset, chunk->bytes);
        there = co_await send_piece(is_stderr, piece.offset, piece.text);
      } else if (const auto* lost = std::get_if<Attachment::Lost>(&event)) {
        there = co_await send_lost(lost->stream == wire::Stream::kStderr, lost->bytes);
      } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
        co_await send_exit(exited->end);
        co_return;
      } else if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
        if (client_gone_) break;
        const Error why(Errc::kUnavailable, gone->why);
        co_await send_error(why, gone_code(*gone));
        co_return;
      }
      // Checked after every event: else a process that prints without end would never time out.
      if (Clock::now() >= deadline_) {
        timed_out_ = true;
        deadline_ = Clock::time_point::max();
        (void)session_->signal(process_, SIGKILL, true);
      }
    }
    leave();
  }

  std::string gone_code(const Attachment::Gone& gone) const {
    if (!session_->alive()) return "session_ended";
    return gone.taken_over && !deps_.is_stopping ? "taken_over" : "server_stopping";
  }

  // Keeps or kills the process when the client has disconnected.
  void leave() {
    if (kills_ && !detached_) {
      (void)session_->signal(process_, SIGKILL, true);
    }
    // No client reads the output from here on: the process must not block on it.
    (void)session_->set_lossy(process_, true);
  }

  asio::awaitable<bool> send(json::object object) {
    std::string text = json::serialize(object);
    co_return co_await socket_.send_text(std::move(text));
  }

  asio::awaitable<void> send_started(std::uint32_t pid) {
    json::object object{{"type", "started"}, {"process", process_}, {"pid", pid}};
    co_await send(std::move(object));
  }

  asio::awaitable<bool> send_piece(bool is_stderr, std::uint64_t offset, std::string_view text) {
    if (text.empty()) co_return true;
    json::object object{{"type", is_stderr ? "stderr" : "stdout"}};
    sessions::add_data(object, text);
    object["offset"] = offset;
    co_return co_await send(std::move(object));
  }

  // Sends bytes that were held back as an incomplete character.
  asio::awaitable<bool> send_rest(bool is_stderr) {
    const auto rest = (is_stderr ? err_ : out_).rest();
    co_return co_await send_piece(is_stderr, rest.offset, rest.text);
  }

  asio::awaitable<bool> send_lost(bool is_stderr, std::uint64_t bytes) {
    co_await send_rest(is_stderr);
    json::object object{
        {"type", "lost"}, {"stream", is_stderr ? "stderr" : "stdout"}, {"bytes", bytes}};
    co_return co_await send(std::move(object));
  }

  asio::awaitable<void> send_exit(wire::ProcessEnd end) {
    co_await send_rest(false);
    co_await send_rest(true);
    const bool oom = co_await deps_.oom_kills.was_killed(session_->id(), process_, end);
    json::object object{{"type", "exit"},
                        {"exit_code", timed_out_ ? kExitTimeout : sessions::exit_code_of(end)},
                        {"signal", nullptr},
                        {"oom_killed", oom},
                        {"timed_out", timed_out_}};
    if (end.signal != 0) object["signal"] = end.signal;
    deps_.sessions.note(session_->id(), "exit",
                        "status " + std::to_string(sessions::exit_code_of(end)), process_);
    co_await send(std::move(object));
  }

  asio::awaitable<void> send_error(Error error, std::string code = {}) {
    if (code.empty()) code = http::status_of(error.code()).code;
    if (const auto refusal = routing::refuse_program(error)) code = refusal->problem.value().code;
    json::object object{{"type", "error"}, {"code", code}, {"message", error.message()}};
    co_await send(std::move(object));
  }

  // ---- from the client ---------------------------------------------------------------------

  asio::awaitable<void> read_input() {
    while (!detached_ && !stopping_) {
      auto message = co_await socket_.receive();
      if (!message || !deps_.authenticator.principal_of(request_)) break;
      if (!message->text) {
        co_await pump_->push(std::move(message->data));
        continue;
      }
      auto done = co_await obey(std::move(message->data));
      // An invalid message does not end the stream.
      if (!done) co_await send_error(std::move(done.error()));
    }
    client_gone_ = true;
    attachment_->close();
  }

  Task<> obey(std::string message) {
    CO_TRY(const json::value document, wire::parse_strict_json(message));
    CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
    CO_TRY(const auto type, fields.text("type", 32));
    if (type == "stdin") {
      CO_TRY(auto bytes, wire::read_bytes(fields, "data"));
      CO_TRY_OK(fields.finish());
      if (!bytes) co_return fields.bad("data", "is missing (or give data_base64)");
      // Waits while the process does not read; meanwhile the client's messages are not read.
      co_await pump_->push(std::move(*bytes));
    } else if (type == "close_stdin") {
      CO_TRY_OK(fields.finish());
      pump_->close_input();
    } else if (type == "signal") {
      CO_TRY(const int signal, sessions::read_signal(fields, "signal"));
      CO_TRY_OK(fields.finish());
      CO_TRY_OK(session_->signal(process_, signal, true));
    } else if (type == "resize") {
      CO_TRY(const TerminalSize size, sessions::read_terminal_size(fields));
      CO_TRY_OK(fields.finish());
      CO_TRY_OK(session_->resize(process_, size));
    } else if (type == "detach") {
      CO_TRY_OK(fields.finish());
      detached_ = true;
    } else {
      co_return fields.bad("type", "must be stdin, close_stdin, signal, resize or detach");
    }
    co_return Result<>();
  }

  const ExecStreamRoutes::Dependencies& deps_;
  const Request& request_;
  std::shared_ptr<node::Session> session_;
  WebSocket& socket_;
  asio::steady_timer input_ended_;
  std::unique_ptr<Attachment> attachment_;
  std::shared_ptr<sessions::InputPump> pump_;
  wire::ProcessNumber process_ = 0;
  std::string first_input_;
  Clock::time_point deadline_ = Clock::time_point::max();
  wire::StreamText out_;
  wire::StreamText err_;
  bool kills_ = false;  // on disconnect
  bool is_reading_ = false;
  bool client_gone_ = false;
  bool detached_ = false;
  bool stopping_ = false;
  bool timed_out_ = false;
};

}  // namespace

std::span<const routing::RouteRow<ExecStreamRoutes>> ExecStreamRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ExecStreamRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/exec/stream", routing::Access::kKey, nullptr,
       "Start or attach to a process (WebSocket)", 0, &ExecStreamRoutes::exec_stream},
  };
  return kRows;
}

asio::awaitable<void> ExecStreamRoutes::exec_stream(Request& request, http::RawStream& raw) {
  auto session = deps_.lookup.session_of(request);
  if (!session) {
    Response refusal = Response::from_error(session.error());
    co_await http::refuse_upgrade(request, raw, std::move(refusal));
    co_return;
  }
  const std::unique_ptr<WebSocket> socket = co_await http::accept_websocket(request, raw);
  if (!socket) co_return;
  auto first = co_await socket->receive();
  if (!first) co_return;
  ExecStream stream(deps_, request, std::move(*session), *socket);
  const bool begun = co_await stream.begin(std::move(first->data));
  if (begun) {
    co_await stream.run();
  } else {
    co_await socket->close(http::close_code::kPolicy);
  }
}

}  // namespace glovebox::api
