// /workspace/se/session/{session_id} and /status: made under the client's own id, shown, ended.
#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"
#include "dialects/workspace/client_session.h"
#include "dialects/workspace/handlers.h"
#include "dialects/workspace/requests.h"
#include "wire/json/stored_policy.h"

namespace glovebox::workspace {
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

Response answer(routing::App& app, const ClientSession& session, const store::SessionRecord& record,
                int status) {
  const json::object body = session_json(session, record, timeout_of(app, record));
  return Response::json(json::serialize(body) + "\n", status);
}

}  // namespace

Task<Response> create_session(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, client_session(app, request));
  CO_TRY(sessions::CreateRequest wanted, parse_create(request.body, app.settings.workspace));
  wanted.agent_id = session.agent;
  if (wanted.template_name.empty()) {
    const auto known = app.keeper->of_agent(session.caller.project, session.agent);
    wanted.template_name = known ? known->template_name : std::string(kDefaultTemplate);
  }
  routing::Caller caller = session.caller;
  const routing::Creation creation =
      co_await create_session_for(app, request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  co_return answer(app, session, creation.made->record, creation.made->is_new ? 201 : 200);
}

Task<Response> delete_session(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, client_session(app, request));
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  CO_TRY_OK(co_await app.keeper->destroy(session.caller.project, record.id.str()));
  const json::object body{{"session_id", session.id}, {"status", "deleted"}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> session_status(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const ClientSession session, client_session(app, request));
  CO_TRY(const store::SessionRecord record, find_record(app, session));
  co_return answer(app, session, record, 200);
}

}  // namespace glovebox::workspace
