#include "api/routes/sandbox_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "routing/query.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_json.h"
#include "store/project_quota.h"
#include "store/store_call.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Response sandbox_answer(const store::SessionRecord& session, int status = 200) {
  return Response::json(json::serialize(sessions::sandbox_json(session)) + "\n", status);
}

std::string requested_sandbox(const Request& request) { return std::string(request.param("id")); }

}  // namespace

std::span<const routing::RouteRow<SandboxRoutes>> SandboxRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<SandboxRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes", routing::Access::kKey, &SandboxRoutes::create_sandbox,
       "Create a persistent sandbox", routing::kSandboxBody},
      {Method::kGet, "/v1/sandboxes", routing::Access::kKey, &SandboxRoutes::list_sandboxes,
       "List the sandboxes of your project"},
      {Method::kGet, "/v1/sandboxes/{id}", routing::Access::kKey, &SandboxRoutes::get_sandbox,
       "Get a sandbox"},
      {Method::kDelete, "/v1/sandboxes/{id}", routing::Access::kKey, &SandboxRoutes::delete_sandbox,
       "End a sandbox"},
      {Method::kPatch, "/v1/sandboxes/{id}", routing::Access::kKey, &SandboxRoutes::change_sandbox,
       "Change a sandbox's time to live, its end, metadata or network policy",
       routing::kSandboxBody},
      {Method::kPost, "/v1/sandboxes/{id}/pause", routing::Access::kKey,
       &SandboxRoutes::pause_sandbox, "Pause a sandbox"},
      {Method::kPost, "/v1/sandboxes/{id}/resume", routing::Access::kKey,
       &SandboxRoutes::resume_sandbox, "Resume a paused sandbox"},
      {Method::kPost, "/v1/sandboxes/{id}/keepalive", routing::Access::kKey,
       &SandboxRoutes::keep_sandbox_alive, "Restart a sandbox's time to live"},
  };
  return kRows;
}

Task<Response> SandboxRoutes::create_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(sessions::CreateRequest wanted, sessions::parse_create_request(request.body));
  const routing::CreationResult creation =
      co_await deps_.creation.create(request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  const sessions::CreatedSession& created = *creation.made;
  json::object body = sessions::sandbox_json(created.record);
  const std::string& token = created.record.port_token;
  if (created.is_new && !token.empty()) body["port_token"] = token;
  Response response = Response::json(json::serialize(body) + "\n", created.is_new ? 201 : 200);
  response.headers.set("Location", "/v1/sandboxes/" + created.record.id.str());
  co_return response;
}

Task<Response> SandboxRoutes::list_sandboxes(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const store::SessionFilter filter, routing::parse_session_filter(request.query));
  const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    deps_.store.list_sessions(caller.project, filter, std::move(done));
  };
  CO_TRY(const store::SessionPage page, co_await store::store_call(ask));
  json::array sandboxes;
  for (const store::SessionRecord& session : page.sessions) {
    sandboxes.push_back(sessions::sandbox_json(session));
  }
  json::object body{{"sandboxes", std::move(sandboxes)}};
  body["next_cursor"] =
      page.next_cursor.empty() ? json::value(nullptr) : json::value(page.next_cursor);
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> SandboxRoutes::get_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const auto session,
         co_await deps_.registry.get(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> SandboxRoutes::delete_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY_OK(co_await deps_.lifecycle.destroy(caller.project, requested_sandbox(request)));
  co_return Response::empty(204);
}

Task<Response> SandboxRoutes::change_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(sessions::ChangeRequest wanted, sessions::parse_change_request(request.body));
  const auto session = co_await deps_.lifecycle.change(caller.project, requested_sandbox(request),
                                                       std::move(wanted));
  if (!session && store::is_over_quota(session.error())) {
    co_return Response::refuse(507, "disk_full", session.error().message());
  }
  if (!session) co_return fail(session.error());
  co_return sandbox_answer(*session);
}

Task<Response> SandboxRoutes::pause_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const auto session,
         co_await deps_.lifecycle.pause(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> SandboxRoutes::resume_sandbox(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const auto session,
         co_await deps_.lifecycle.resume(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> SandboxRoutes::keep_sandbox_alive(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const auto ttl_s, sessions::parse_keepalive_request(request.body));
  CO_TRY(const auto session,
         co_await deps_.lifecycle.keep_alive(caller.project, requested_sandbox(request), ttl_s));
  co_return sandbox_answer(session);
}

}  // namespace glovebox::api
