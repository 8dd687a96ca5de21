#include "dialects/workspace/session_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "dialects/workspace/requests.h"
#include "wire/json/stored_policy.h"

namespace glovebox::workspace {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

json::object session_json(const ClientSession& session, const store::SessionRecord& record,
                          std::chrono::milliseconds timeout) {
  return {{"session_id", session.id},
          {"sandbox_id", record.id.str()},
          {"status", session_state_name(record.state)},
          {"template", record.template_name},
          {"created_at", utc_text(record.created_ms)},
          {"expires_at", utc_text(record.expires_ms)},
          {"cpu_quota", static_cast<double>(record.limits.cpu_thousandths) / 1000.0},
          {"memory_limit", record.limits.memory_bytes / 1024},
          {"allow_network", !wire::stored_policy(record.net).is_none()},
          {"timeout", static_cast<double>(timeout.count()) / 1000.0}};
}

}  // namespace

std::span<const routing::RouteRow<SessionRoutes>> SessionRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<SessionRoutes> kRows[] = {
      {Method::kPost, "/workspace/se/session/{session_id}", Access::kKey,
       &SessionRoutes::create_session, "Create a session under your own id"},
      {Method::kDelete, "/workspace/se/session/{session_id}", Access::kKey,
       &SessionRoutes::delete_session, "End a session"},
      {Method::kGet, "/workspace/se/status/{session_id}", Access::kKey,
       &SessionRoutes::session_status, "Get the status of a session"},
  };
  return kRows;
}

Response SessionRoutes::answer(const ClientSession& session, const store::SessionRecord& record,
                               int status) const {
  const json::object body = session_json(session, record, deps_.clients.default_timeout(record));
  return Response::json(json::serialize(body) + "\n", status);
}

Task<Response> SessionRoutes::create_session(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, deps_.clients.parse(request));
  CO_TRY(sessions::CreateRequest wanted, parse_create(request.body, settings_));
  wanted.agent_id = session.agent;
  if (wanted.template_name.empty()) {
    const auto known = deps_.registry.of_agent(session.caller.project, session.agent);
    wanted.template_name = known ? known->template_name : std::string(kDefaultTemplate);
  }
  routing::Caller caller = session.caller;
  const routing::CreationResult creation =
      co_await deps_.creation.create(request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  co_return answer(session, creation.made->record, creation.made->is_new ? 201 : 200);
}

Task<Response> SessionRoutes::delete_session(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, deps_.clients.parse(request));
  CO_TRY(const store::SessionRecord record, deps_.clients.find(session));
  CO_TRY_OK(co_await deps_.lifecycle.destroy(session.caller.project, record.id.str()));
  const json::object body{{"session_id", session.id}, {"status", "deleted"}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> SessionRoutes::session_status(Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, deps_.clients.parse(request));
  CO_TRY(const store::SessionRecord record, deps_.clients.find(session));
  co_return answer(session, record, 200);
}

}  // namespace glovebox::workspace
