// POST /api/v1/sessions/{id}/execute, answered at once, and GET …/result, which has what came of
// it. The handler is a cell of the session's Python context.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <utility>

#include "base/log.h"
#include "control/cell_answer.h"
#include "control/clock.h"
#include "control/contexts.h"
#include "control/dialects/sessions_api/handlers.h"
#include "control/dialects/sessions_api/requests.h"
#include "control/dialects/sessions_api/session_words.h"
#include "control/large_answer.h"
#include "control/run_output.h"
#include "control/run_record.h"
#include "control/session_creation.h"
#include "control/store_call.h"
#include "http/status.h"
#include "wire/run_answer.h"
#include "wire/strict_json.h"

namespace glovebox::control::sessions_api {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

// A session must not end in the middle of what it runs.
constexpr std::chrono::seconds kAfterwards{60};

struct Job {
  std::shared_ptr<Execution> execution;
  std::shared_ptr<node::Session> session;
  store::SessionRecord record;
  ExecuteRequest wanted;
  RunHeader run;
};

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

// The handler's value travels as a text of JSON; the guest wrote it.
void put_result(json::object& end, CellValue value) {
  end["result"] = nullptr;
  end["error"] = std::move(value.error);
  if (!end["error"].is_null()) return;
  const json::string* text = value.result.if_string();
  auto result = text == nullptr ? Result<json::value>(fail(Errc::kProtocol, "there is none"))
                                : wire::parse_strict_json(*text, {.depth = 64});
  if (result) {
    end["result"] = std::move(*result);
  } else {
    end["error"] = failure("bad_result", "BadResult",
                           "the handler's result cannot be read: " + result.error().message());
  }
}

std::string_view execution_status(const json::object& end, const CellReport& report) {
  if (report.outcome.timed_out) return "timeout";
  return end.at("error").is_null() && report.outcome.exit_code == 0 ? "completed" : "failed";
}

json::object end_json(const Execution& execution, const CellReport& report) {
  const Outcome& outcome = report.outcome;
  json::object end = begun_json(execution);
  put_result(end, cell_value(report));
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

// It never came to its code: what is told is why.
CellReport report_of(const Error& error) {
  CellReport report;
  report.outcome.exit_code = kExitGloveboxFailed;
  report.died = error.message();
  return report;
}

Task<CellReport> run_cell(App& app, const Job& job, KeepingSink& sink) {
  const auto table = app.contexts.of(job.session);
  CO_TRY(const auto context, co_await table->default_of(Language::kPython));
  const HandlerContext about{.execution_id = job.execution->id.str(),
                             .session_id = job.execution->session,
                             .memory_mb = job.record.limits.memory_bytes >> 20,
                             .timeout = job.wanted.timeout};
  CellRequest cell;
  cell.code = handler_cell(job.wanted, about);
  cell.timeout = job.wanted.timeout;
  auto nobody = std::make_shared<node::CancelFlag>();
  co_return co_await table->run(context, std::move(cell), sink, nobody);
}

// The record, the figures and the events of a run, too: the same as POST /v1/run's.
void remember(App& app, const Job& job, const CellReport& report, const KeepingSink& sink,
              const std::string& end) {
  node::RunReport run;
  run.outcome = report.outcome;
  run.outcome.engine = job.record.engine;
  run.warm = report.warm;
  run.queued = report.queued;
  tell_finished(app, job.run, run, sink.out, sink.err, end);
}

asio::awaitable<void> run_job(App& app, Job job) {
  const std::string id = job.execution->session;
  const std::int64_t needed =
      wall_clock_ms() + std::chrono::milliseconds(job.wanted.timeout + kAfterwards).count();
  if (job.record.expires_ms < needed) {
    const std::chrono::seconds ttl = job.wanted.timeout + kAfterwards;
    const auto reached =
        co_await app.keeper->reach(job.record.project, id, static_cast<std::uint64_t>(ttl.count()));
    if (!reached) log::info("a session keeps its time", {{"why", reached.error().message()}});
  }
  tell_started(app, job.run);
  KeepingSink sink(app.held_output);
  auto ran = co_await run_cell(app, job, sink);
  CellReport report = ran ? std::move(*ran) : report_of(ran.error());
  report.outcome.truncated = report.outcome.truncated || sink.truncated();
  const json::object end = end_json(*job.execution, report);
  std::string status(end.at("status").as_string());
  std::string text = json::serialize(end) + "\n";
  remember(app, job, report, sink, text);
  Outcome outcome = std::move(report.outcome);
  outcome.out = std::move(sink.out);
  outcome.err = std::move(sink.err);
  std::string answer = co_await with_output(app, std::move(text), std::move(outcome));
  // Before its result is told: who has that finds no session any more.
  if (mode_of(job.record) == Mode::kEphemeral) {
    const auto ended = co_await app.keeper->destroy(job.record.project, id);
    if (!ended) log::debug("not destroyed", {{"sandbox", id}, {"why", ended.error().message()}});
  }
  executions_of(app).end(job.execution, std::move(status), std::move(answer), Clock::now());
}

RunHeader header_of(const Request& request, const Caller& caller,
                    const store::SessionRecord& record, const Execution& execution) {
  RunHeader run;
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

// Of an execution that is not in memory any more: what its run record has kept.
Task<Response> from_the_store(App& app, const store::SessionRecord& record, std::string asked) {
  Response nothing = Response::refuse(404, "not_found", "there is no such execution");
  auto id = store::RunId::parse(asked);
  if (!id) co_return nothing;
  const Ask<store::RunRecord> ask = [&](store::Callback<store::RunRecord> done) {
    app.store.get_run(record.project, *id, std::move(done));
  };
  auto run = co_await store_call(ask);
  if (!run && run.error().code() == Errc::kNotFound) co_return nothing;
  if (!run) co_return fail(std::move(run.error()));
  auto kept = wire::parse_strict_json(run->answer, {.depth = 80});
  const json::object* end = kept ? kept->if_object() : nullptr;
  const json::value* session = end == nullptr ? nullptr : end->if_contains("session_id");
  // A run of another kind, another session's, or one whose result was too long to be kept.
  if (session == nullptr || *session != json::value(record.id.str())) co_return nothing;
  Outcome outcome;
  outcome.out = std::move(run->out);
  outcome.err = std::move(run->err);
  std::string body = co_await with_output(app, std::move(run->answer), std::move(outcome));
  co_return held_answer(app, std::move(body));
}

}  // namespace

Task<Response> execute(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(ExecuteRequest wanted, parse_execute(request.body));
  request.body = std::string();  // it can be large
  std::string id(request.param("id"));
  CO_TRY(store::SessionRecord record, co_await app.keeper->get(caller.project, id));
  CO_TRY(auto session, app.sessions.use(record.project, id));
  Executions& all = executions_of(app);
  if (mode_of(record) == Mode::kEphemeral && all.last_of(record.project, id) != nullptr) {
    co_return fail(Errc::kConflict, "the session is ephemeral, and has executed its code");
  }
  const auto execution = all.begin(record.project, id, wall_clock_ms());
  if (execution == nullptr) {
    co_return fail(Errc::kResourceExhausted, "too many executions wait in this session");
  }
  Job job{.execution = execution,
          .session = std::move(session),
          .record = record,
          .wanted = std::move(wanted),
          .run = header_of(request, caller, record, *execution)};
  asio::co_spawn(app.io, run_job(app, std::move(job)), asio::detached);
  Response response = Response::json(json::serialize(begun_json(*execution)) + "\n", 202);
  response.headers.set("Location",
                       "/api/v1/sessions/" + id + "/result?execution_id=" + execution->id.str());
  co_return response;
}

Task<Response> execution_result(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  std::string id(request.param("id"));
  CO_TRY(const store::SessionRecord record, co_await app.keeper->get(caller.project, id));
  const std::string* asked = request.query.find("execution_id");
  const Executions& all = executions_of(app);
  const auto execution =
      asked != nullptr ? all.find(record.project, id, *asked) : all.last_of(record.project, id);
  if (execution == nullptr && asked != nullptr) {
    co_return co_await from_the_store(app, record, *asked);
  }
  if (execution == nullptr) {
    co_return Response::refuse(404, "not_found",
                               "nothing was executed in this session lately; name an execution_id");
  }
  if (!execution->ended) {
    co_return Response::json(json::serialize(begun_json(*execution)) + "\n", 202);
  }
  std::string body = execution->answer;
  co_return held_answer(app, std::move(body));
}

}  // namespace glovebox::control::sessions_api
