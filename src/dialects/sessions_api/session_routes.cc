#include "dialects/sessions_api/session_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "base/wall_clock.h"
#include "dialects/sessions_api/requests.h"
#include "dialects/sessions_api/session_json.h"

namespace glovebox::sessions_api {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

Response session_answer(const json::object& body, int status = 200) {
  return Response::json(json::serialize(body) + "\n", status);
}

json::value last_execution_json(const Executions& executions, const store::SessionRecord& record) {
  const auto last = executions.last_of(record.project, record.id.str());
  if (last == nullptr) return nullptr;
  return {{"execution_id", last->id.str()},
          {"status", last->status},
          {"created_at", utc_text(last->created_ms)}};
}

}  // namespace

std::span<const routing::RouteRow<SessionRoutes>> SessionRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<SessionRoutes> kRows[] = {
      {Method::kPost, "/api/v1/sessions", Access::kKey, &SessionRoutes::create_session,
       "Create a session for handlers", 256 * 1024},
      {Method::kGet, "/api/v1/sessions/{id}", Access::kKey, &SessionRoutes::get_session,
       "Get a session"},
      {Method::kDelete, "/api/v1/sessions/{id}", Access::kKey, &SessionRoutes::delete_session,
       "End a session if it has not ended"},
      {Method::kGet, "/api/v1/sessions/{id}/status", Access::kKey, &SessionRoutes::session_status,
       "Get the status of a session and its last execution"},
  };
  return kRows;
}

Task<store::SessionRecord> SessionRoutes::record_of(const Request& request) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string id(request.param("id"));
  co_return co_await deps_.registry.get(caller.project, std::move(id));
}

Task<Response> SessionRoutes::create_session(Request& request, ResponseWriter&) {
  CO_TRY(routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(sessions::CreateRequest wanted, parse_session(request.body));
  if (wanted.template_name.empty()) {
    const auto known = deps_.registry.of_agent(caller.project, wanted.agent_id);
    wanted.template_name = known ? known->template_name : std::string(kDefaultTemplate);
  }
  const routing::CreationResult creation =
      co_await deps_.creation.create(request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  const store::SessionRecord& record = creation.made->record;
  Response response = session_answer(session_json(record), creation.made->is_new ? 201 : 200);
  response.headers.set("Location", "/api/v1/sessions/" + record.id.str());
  co_return response;
}

Task<Response> SessionRoutes::get_session(Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(request));
  json::object body = session_json(record);
  body["last_execution"] = last_execution_json(deps_.executions, record);
  co_return session_answer(body);
}

// No error if it has ended already: an ephemeral session ends by itself.
Task<Response> SessionRoutes::delete_session(Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(request));
  if (!is_over(record.state)) {
    auto ended = co_await deps_.lifecycle.destroy(record.project, record.id.str());
    if (!ended && ended.error().code() != Errc::kConflict) co_return fail(std::move(ended.error()));
  }
  co_return Response::empty(204);
}

Task<Response> SessionRoutes::session_status(Request& request, ResponseWriter&) {
  CO_TRY(const store::SessionRecord record, co_await record_of(request));
  const std::string id = record.id.str();
  const json::object body{{"session_id", id},
                          {"mode", mode_name(mode_of(record))},
                          {"status", session_state_name(record.state)},
                          {"running", deps_.executions.running_of(record.project, id)},
                          {"last_execution", last_execution_json(deps_.executions, record)}};
  co_return session_answer(body);
}

}  // namespace glovebox::sessions_api
