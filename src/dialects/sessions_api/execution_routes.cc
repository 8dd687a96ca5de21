#include "dialects/sessions_api/execution_routes.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <memory>
#include <utility>

#include "base/log.h"
#include "base/wall_clock.h"
#include "dialects/sessions_api/requests.h"
#include "routing/large_requests.h"
#include "sessions/contexts/cell_json.h"
#include "store/store_call.h"
#include "wire/json/strict_json.h"

namespace glovebox::sessions_api {

using http::Request;
using http::Response;
using http::ResponseWriter;

struct ExecutionRoutes::Job {
  std::shared_ptr<Execution> execution;
  std::shared_ptr<node::Session> session;
  store::SessionRecord record;
  ExecuteRequest wanted;
  runs::RunHeader run;
};

namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// How long a session lives at least after the deadline of its handler.
constexpr std::chrono::seconds kGracePeriod{60};

json::object begun_json(const Execution& execution) {
  return {{"execution_id", execution.id.str()},
          {"session_id", execution.session},
          {"status", execution.status},
          {"created_at", utc_text(execution.created_ms)}};
}

json::object failure(std::string_view code, std::string_view name, std::string_view message) {
  return {{"code", code},
          {"name", name},
          {"message", message},
          {"traceback", json::array()},
          {"line", nullptr}};
}

// The handler's value arrives as JSON text; the guest wrote it, so it is not trusted.
void put_result(json::object& end, sessions::CellValue value) {
  end["result"] = nullptr;
  end["error"] = std::move(value.error);
  if (!end["error"].is_null()) return;
  const json::string* text = value.result.if_string();
  auto result = text == nullptr ? Result<json::value>(fail(Errc::kProtocol, "it is missing"))
                                : wire::parse_strict_json(*text, {.depth = 64});
  if (result) {
    end["result"] = std::move(*result);
  } else {
    end["error"] = failure("bad_result", "BadResult",
                           "malformed result of the handler: " + result.error().message());
  }
}

std::string_view execution_status(const json::object& end, const sessions::CellReport& report) {
  if (report.outcome.timed_out) return "timeout";
  return end.at("error").is_null() && report.outcome.exit_code == 0 ? "completed" : "failed";
}

json::object end_json(const Execution& execution, const sessions::CellReport& report) {
  const Outcome& outcome = report.outcome;
  json::object end = begun_json(execution);
  put_result(end, sessions::cell_value(report));
  end["status"] = execution_status(end, report);
  end["finished_at"] = utc_text(wall_clock_ms());
  end["exit_code"] = outcome.exit_code;
  end["timed_out"] = outcome.timed_out;
  end["oom_killed"] = outcome.oom_killed;
  end["truncated"] = outcome.truncated;
  end["metrics"] = {{"duration_ms", static_cast<double>(outcome.wall.count()) / 1000.0},
                    {"queue_ms", static_cast<double>(report.queued.count()) / 1000.0},
                    {"output_bytes", outcome.output_bytes}};
  return end;
}

// The report of code that never started.
sessions::CellReport report_of(const Error& error) {
  sessions::CellReport report;
  report.outcome.exit_code = kExitGloveboxFailed;
  report.died = error.message();
  return report;
}

runs::RunHeader run_header(const Request& request, const routing::Caller& caller,
                           const store::SessionRecord& record, const Execution& execution) {
  runs::RunHeader run;
  run.id = execution.id;
  run.request_id = request.id;
  run.project = record.project;
  run.key_id = caller.who.key.str();
  run.template_name = record.template_name;
  run.language = "python";
  run.profile_hash = record.profile;
  run.started_ms = execution.created_ms;
  run.began = Clock::now();
  return run;
}

node::RunReport run_report(const sessions::CellReport& cell, EngineKind engine) {
  node::RunReport report;
  report.outcome = cell.outcome;
  report.outcome.engine = engine;
  report.warm = cell.warm;
  report.queued = cell.queued;
  return report;
}

Response no_such_execution() {
  return Response::refuse(404, "not_found", "there is no such execution");
}

}  // namespace

std::span<const routing::RouteRow<ExecutionRoutes>> ExecutionRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ExecutionRoutes> kRows[] = {
      {Method::kPost, "/api/v1/sessions/{id}/execute", Access::kKey, &ExecutionRoutes::execute,
       "Start a handler without waiting for it", http::kDefaultBodyLimit},
      {Method::kGet, "/api/v1/sessions/{id}/result", Access::kKey,
       &ExecutionRoutes::execution_result, "Get the result of an execution"},
  };
  return kRows;
}

Task<Response> ExecutionRoutes::execute(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(ExecuteRequest wanted, co_await routing::parse_body(deps_.worker, request, parse_execute));
  request.body = std::string();  // it can be large
  std::string id(request.param("id"));
  CO_TRY(store::SessionRecord record, co_await deps_.registry.get(caller.project, id));
  CO_TRY(auto session, deps_.sessions.use(record.project, id));
  if (mode_of(record) == Mode::kEphemeral &&
      deps_.executions.last_of(record.project, id) != nullptr) {
    co_return fail(Errc::kConflict,
                   "the session is ephemeral and has executed a handler already; create another");
  }
  const auto execution = deps_.executions.begin(record.project, id, wall_clock_ms());
  if (execution == nullptr) {
    co_return fail(Errc::kResourceExhausted,
                   "too many executions are pending in this session; try again later");
  }
  Job job{.execution = execution,
          .session = std::move(session),
          .record = record,
          .wanted = std::move(wanted),
          .run = run_header(request, caller, record, *execution)};
  asio::co_spawn(deps_.io, run_job(std::move(job)), asio::detached);
  Response response = Response::json(json::serialize(begun_json(*execution)) + "\n", 202);
  response.headers.set("Location",
                       "/api/v1/sessions/" + id + "/result?execution_id=" + execution->id.str());
  co_return response;
}

Task<Response> ExecutionRoutes::execution_result(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string id(request.param("id"));
  CO_TRY(const store::SessionRecord record, co_await deps_.registry.get(caller.project, id));
  const std::string* asked = request.query.find("execution_id");
  const auto execution = asked != nullptr ? deps_.executions.find(record.project, id, *asked)
                                          : deps_.executions.last_of(record.project, id);
  if (execution == nullptr && asked != nullptr) {
    co_return co_await result_from_store(record, *asked);
  }
  if (execution == nullptr) {
    co_return Response::refuse(404, "not_found",
                               "no recent execution in this session; name one by execution_id");
  }
  if (!execution->ended) {
    co_return Response::json(json::serialize(begun_json(*execution)) + "\n", 202);
  }
  std::string body = execution->answer;
  co_return deps_.responses.respond(record.project, std::move(body));
}

asio::awaitable<void> ExecutionRoutes::run_job(Job job) {
  co_await extend_session(job);
  deps_.run_log.started(job.run);
  routing::KeepingSink sink(deps_.memory_budget, job.record.project);
  auto ran = co_await run_cell(job, sink);
  sessions::CellReport report = ran ? std::move(*ran) : report_of(ran.error());
  report.outcome.truncated = report.outcome.truncated || sink.truncated();
  const json::object end = end_json(*job.execution, report);
  std::string status(end.at("status").as_string());
  std::string text = json::serialize(end) + "\n";
  // An execution is a run, too: it has a record, events and figures like those of POST /v1/run.
  deps_.run_log.finished(job.run, run_report(report, job.record.engine), sink.out, sink.err, text);
  Outcome outcome = std::move(report.outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string answer =
      co_await deps_.responses.with_output(job.record.project, std::move(text), std::move(outcome));
  // Before the result can be read: a client that has it finds the session ended.
  if (mode_of(job.record) == Mode::kEphemeral) {
    const std::string id = job.record.id.str();
    const auto ended = co_await deps_.lifecycle.destroy(job.record.project, id);
    if (!ended) log::debug("not destroyed", {{"sandbox", id}, {"why", ended.error().message()}});
  }
  deps_.executions.end(job.execution, std::move(status), std::move(answer), Clock::now());
}

asio::awaitable<void> ExecutionRoutes::extend_session(const Job& job) {
  const std::chrono::seconds ttl = job.wanted.timeout + kGracePeriod;
  if (job.record.expires_ms >= wall_clock_ms() + std::chrono::milliseconds(ttl).count()) co_return;
  const auto connected = co_await deps_.lifecycle.connect(job.record.project, job.record.id.str(),
                                                          static_cast<std::uint64_t>(ttl.count()));
  if (!connected) {
    log::info("session not extended",
              {{"sandbox", job.record.id.str()}, {"why", connected.error().message()}});
  }
}

Task<sessions::CellReport> ExecutionRoutes::run_cell(const Job& job, routing::KeepingSink& sink) {
  const auto table = deps_.contexts.of(job.session);
  CO_TRY(const auto context, co_await table->default_of(sessions::Language::kPython));
  const HandlerContext about{.execution_id = job.execution->id.str(),
                             .session_id = job.execution->session,
                             .memory_mb = job.record.limits.memory_bytes >> 20,
                             .timeout = job.wanted.timeout};
  sessions::CellRequest cell;
  cell.code = handler_cell(job.wanted, about);
  cell.timeout = job.wanted.timeout;
  co_return co_await table->run(context, std::move(cell), sink, sessions::never_cancelled());
}

Task<Response> ExecutionRoutes::result_from_store(store::SessionRecord record,
                                                  std::string execution_id) {
  const auto id = store::RunId::parse(execution_id);
  if (!id) co_return no_such_execution();
  const store::Ask<store::RunRecord> ask = [&](store::Callback<store::RunRecord> done) {
    deps_.store.get_run(record.project, *id, std::move(done));
  };
  auto run = co_await store::store_call(ask);
  if (!run && run.error().code() == Errc::kNotFound) co_return no_such_execution();
  if (!run) co_return fail(std::move(run.error()));
  const auto stored = wire::parse_strict_json(run->answer, {.depth = 80});
  const json::object* end = stored ? stored->if_object() : nullptr;
  const json::value* session = end == nullptr ? nullptr : end->if_contains("session_id");
  // A run of another kind, of another session, or one whose result was too long to be stored.
  if (session == nullptr || *session != json::value(record.id.str())) {
    co_return no_such_execution();
  }
  Outcome outcome;
  outcome.out = std::move(run->out);
  outcome.err = std::move(run->err);
  std::string body = co_await deps_.responses.with_output(record.project, std::move(run->answer),
                                                          std::move(outcome));
  co_return deps_.responses.respond(record.project, std::move(body));
}

}  // namespace glovebox::sessions_api
