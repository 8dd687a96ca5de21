#include "api/routes/sandboxes/process_routes.h"

#include <boost/json.hpp>
#include <charconv>
#include <csignal>
#include <utility>

#include "routing/query.h"
#include "routing/sandbox_lookup.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/signal_names.h"
#include "wire/json/object_reader.h"
#include "wire/json/request_fields.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDefaultWaitMs = 30'000;
constexpr std::uint64_t kMaxWaitMs = 600'000;
constexpr std::chrono::seconds kDeadWithin{10};
constexpr std::chrono::seconds kInputWithin{20};

Result<node::ProcessInfo> process_of(const node::Session& session, const Request& request) {
  const std::string_view text = request.param("process");
  wire::ProcessNumber number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool good = !text.empty() && ec == std::errc{} && end == text.data() + text.size();
  auto process = good ? session.find_process(number) : std::nullopt;
  if (!process) return fail(Errc::kNotFound, "there is no such process");
  return std::move(*process);
}

Response process_answer(const node::ProcessInfo& process) {
  return Response::json(json::serialize(sessions::process_json(process)) + "\n");
}

}  // namespace

std::span<const routing::RouteRow<ProcessRoutes>> ProcessRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ProcessRoutes> kRows[] = {
      {Method::kGet, "/v1/sandboxes/{id}/processes", routing::Access::kKey,
       &ProcessRoutes::list_processes, "List the processes of a sandbox"},
      {Method::kGet, "/v1/sandboxes/{id}/processes/{process}", routing::Access::kKey,
       &ProcessRoutes::get_process, "Get a process"},
      {Method::kDelete, "/v1/sandboxes/{id}/processes/{process}", routing::Access::kKey,
       &ProcessRoutes::delete_process, "End a process and remove its record"},
      {Method::kPost, "/v1/sandboxes/{id}/processes/{process}/signal", routing::Access::kKey,
       &ProcessRoutes::signal_process, "Send a signal to a process"},
      {Method::kGet, "/v1/sandboxes/{id}/processes/{process}/wait", routing::Access::kKey,
       &ProcessRoutes::wait_process, "Wait for a process to end"},
      {Method::kPost, "/v1/sandboxes/{id}/processes/{process}/stdin", routing::Access::kKey,
       &ProcessRoutes::write_process, "Write to a process", 2u << 20},
  };
  return kRows;
}

Task<Response> ProcessRoutes::list_processes(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  json::array all;
  for (const node::ProcessInfo& process : session->processes()) {
    all.push_back(sessions::process_json(process));
  }
  const json::object body{{"processes", std::move(all)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> ProcessRoutes::get_process(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const node::ProcessInfo process, process_of(*session, request));
  co_return process_answer(process);
}

Task<Response> ProcessRoutes::signal_process(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const node::ProcessInfo process, process_of(*session, request));
  CO_TRY(const json::value document, wire::parse_strict_json(request.body));
  CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  CO_TRY(const int signal, sessions::read_signal(fields, "signal"));
  CO_TRY(const auto group, fields.truth("group"));
  CO_TRY_OK(fields.finish());
  if (process.ended) co_return fail(Errc::kConflict, "the process has exited");
  CO_TRY_OK(session->signal(process.number, signal, group.value_or(true)));
  co_return Response::empty();
}

Task<Response> ProcessRoutes::wait_process(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const node::ProcessInfo process, process_of(*session, request));
  CO_TRY(const std::uint64_t timeout,
         routing::query_number(request, "timeout_ms", 0, kMaxWaitMs, kDefaultWaitMs));
  if (!process.ended) {
    const auto deadline = Clock::now() + std::chrono::milliseconds(timeout);
    const auto ended = co_await session->wait_exit(process.number, deadline);
    if (!ended && ended.error().code() != Errc::kTimeout) co_return fail(Error(ended.error()));
  }
  CO_TRY(const node::ProcessInfo now, process_of(*session, request));
  co_return process_answer(now);
}

Task<Response> ProcessRoutes::write_process(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const node::ProcessInfo process, process_of(*session, request));
  CO_TRY(const json::value document, wire::parse_strict_json(request.body));
  CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  CO_TRY(auto bytes, wire::read_bytes(fields, "data"));
  CO_TRY(const auto close, fields.truth("close"));
  CO_TRY_OK(fields.finish());
  if (process.kind != wire::ProcessKind::kProgram) {
    co_return fail(Errc::kInvalidArgument, "a context has no stdin; use POST …/code");
  }
  if (process.ended) co_return fail(Errc::kConflict, "the process has exited");
  const auto pump = deps_.inputs.of(session, process.number);
  const auto deadline = Clock::now() + kInputWithin;
  const auto pushed = co_await pump->push(std::move(bytes).value_or(std::string()), deadline);
  if (pushed == sessions::InputPump::Pushed::kClosed) {
    co_return fail(Errc::kConflict, "the process no longer reads its stdin");
  }
  if (pushed == sessions::InputPump::Pushed::kNoRoom) {
    Response response =
        Response::refuse(503, "stdin_full", "the process has not read its earlier input yet");
    response.headers.set("Retry-After", "1");
    co_return response;
  }
  if (close.value_or(false)) pump->close_input();
  const bool arrived = co_await pump->drained(deadline);
  if (!arrived && pump->is_closed()) {
    co_return fail(Errc::kConflict, "the process no longer reads its stdin");
  }
  // Accepted, but the process has not read it yet.
  if (!arrived) co_return Response::empty(202);
  co_return Response::empty();
}

Task<Response> ProcessRoutes::delete_process(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const node::ProcessInfo process, process_of(*session, request));
  if (process.kind != wire::ProcessKind::kProgram) {
    co_return fail(Errc::kConflict, "the process belongs to context " +
                                        sessions::decode_label(process.label).context +
                                        "; delete the context instead");
  }
  if (!process.ended) {
    CO_TRY_OK(session->signal(process.number, SIGKILL, true));
    const auto deadline = Clock::now() + kDeadWithin;
    const auto ended = co_await session->wait_exit(process.number, deadline);
    if (!ended) co_return fail(Error(ended.error()).context("end the process"));
  }
  CO_TRY_OK(session->forget(process.number));
  co_return Response::empty();
}

}  // namespace glovebox::api
