// /api/v1/sessions: made, shown, ended; and /api/v1/containers, the same sandboxes once more.
#include <boost/json.hpp>
#include <utility>

#include "control/clock.h"
#include "control/dialects/sessions_api/handlers.h"
#include "control/dialects/sessions_api/requests.h"
#include "control/dialects/sessions_api/session_words.h"
#include "control/json_fields.h"
#include "control/session_creation.h"
#include "control/store_call.h"
#include "wire/utf8.h"

namespace glovebox::control::sessions_api {
namespace {

namespace json = boost::json;

json::object resources_json(const Limits& limits) {
  return {{"cpu", static_cast<double>(limits.cpu_thousandths) / 1000.0},
          {"memory_mb", limits.memory_bytes >> 20},
          {"disk_mb", limits.disk_bytes >> 20},
          {"pids", limits.pids}};
}

Response answer(const json::object& body, int status = 200) {
  return Response::json(json::serialize(body) + "\n", status);
}

Task<store::SessionRecord> record_of(App& app, const Request& request) {
  CO_TRY(const Caller caller, caller_of(app, request));
  std::string id(request.param("id"));
  co_return co_await app.keeper->get(caller.project, std::move(id));
}

json::value last_execution(App& app, const store::SessionRecord& record) {
  const auto last = executions_of(app).last_of(record.project, record.id.str());
  if (last == nullptr) return nullptr;
  return {{"execution_id", last->id.str()},
          {"status", last->status},
          {"created_at", utc_text(last->created_ms)}};
}

}  // namespace

Executions& executions_of(App& app) {
  if (!app.executions) app.executions = std::make_shared<Executions>();
  return *app.executions;
}

json::object session_json(const store::SessionRecord& record) {
  return {{"id", record.id.str()},
          {"mode", mode_name(mode_of(record))},
          {"status", session_state_name(record.state)},
          {"reason", text_or_null(record.reason)},
          {"template", record.template_name},
          {"agent_id", text_or_null(agent_of(record))},
          {"resources", resources_json(record.limits)},
          {"timeout", record.ttl_s},
          {"created_at", utc_text(record.created_ms)},
          {"expires_at", time_or_null(record.expires_ms)},
          {"ended_at", time_or_null(record.ended_ms)}};
}

json::object container_json(const store::SessionRecord& record) {
  return {{"id", record.id.str()},
          {"session_id", record.id.str()},
          {"status", session_state_name(record.state)},
          {"template", record.template_name},
          {"engine", engine_name(record.engine)},
          {"resources", resources_json(record.limits)},
          {"created_at", utc_text(record.created_ms)},
          {"ended_at", time_or_null(record.ended_ms)}};
}

Task<Response> create_session(App& app, Request& request, ResponseWriter&) {
  CO_TRY(Caller caller, caller_of_one_project(app, request));
  CO_TRY(CreateRequest wanted, parse_session(request.body));
  if (wanted.template_name.empty()) {
    const auto known = app.keeper->of_agent(caller.project, wanted.agent_id);
    wanted.template_name = known ? known->template_name : std::string(kDefaultTemplate);
  }
  const Creation creation =
      co_await create_session_for(app, request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  const store::SessionRecord& record = creation.made->record;
  Response response = answer(session_json(record), creation.made->is_new ? 201 : 200);
  response.headers.set("Location", "/api/v1/sessions/" + record.id.str());
  co_return response;
}

Task<Response> get_session(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(app, request));
  json::object body = session_json(record);
  body["last_execution"] = last_execution(app, record);
  co_return answer(body);
}

// One that has ended has nothing to end: an ephemeral session does so by itself.
Task<Response> delete_session(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(app, request));
  if (!is_over(record.state)) {
    std::string project = record.project;
    auto ended = co_await app.keeper->destroy(std::move(project), record.id.str());
    if (!ended && ended.error().code() != Errc::kConflict) co_return fail(std::move(ended.error()));
  }
  co_return Response::empty(204);
}

Task<Response> session_status(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(app, request));
  const std::string id = record.id.str();
  json::object body{{"session_id", id},
                    {"mode", mode_name(mode_of(record))},
                    {"status", session_state_name(record.state)},
                    {"running", executions_of(app).running_of(record.project, id)},
                    {"last_execution", last_execution(app, record)}};
  co_return answer(body);
}

Task<Response> list_containers(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(store::SessionFilter filter, parse_session_filter(request.query));
  if (filter.states.empty()) {
    filter.states = {SessionState::kStarting, SessionState::kRunning, SessionState::kPaused};
  }
  const Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    app.store.list_sessions(caller.project, filter, std::move(done));
  };
  CO_TRY(const store::SessionPage page, co_await store_call(ask));
  json::array containers;
  for (const store::SessionRecord& record : page.sessions) {
    containers.push_back(container_json(record));
  }
  json::object body{{"containers", std::move(containers)}};
  body["next_cursor"] = text_or_null(page.next_cursor);
  co_return answer(body);
}

Task<Response> get_container(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(app, request));
  co_return answer(container_json(record));
}

}  // namespace glovebox::control::sessions_api
