// /v1/sandboxes: made, listed, shown, changed, paused, resumed, kept alive, ended.
#include <boost/json.hpp>
#include <utility>

#include "api/handlers.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_keeper.h"
#include "sessions/session_json.h"
#include "store/store_call.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;

Response sandbox_answer(const store::SessionRecord& session, int status = 200) {
  return Response::json(json::serialize(sessions::sandbox_json(session)) + "\n", status);
}

std::string requested_sandbox(const Request& request) { return std::string(request.param("id")); }

}  // namespace

Task<Response> create_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(routing::Caller caller, routing::caller_of_one_project(app, request));
  CO_TRY(sessions::CreateRequest wanted, sessions::parse_create_request(request.body));
  const routing::Creation creation =
      co_await create_session_for(app, request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  const sessions::SessionKeeper::Created& created = *creation.made;
  json::object body = sessions::sandbox_json(created.record);
  const std::string& token = created.record.port_token;
  if (created.is_new && !token.empty()) body["port_token"] = token;
  Response response = Response::json(json::serialize(body) + "\n", created.is_new ? 201 : 200);
  response.headers.set("Location", "/v1/sandboxes/" + created.record.id.str());
  co_return response;
}

Task<Response> list_sandboxes(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const store::SessionFilter filter, routing::parse_session_filter(request.query));
  const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    app.store.list_sessions(caller.project, filter, std::move(done));
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

Task<Response> get_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->get(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> delete_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY_OK(co_await app.keeper->destroy(caller.project, requested_sandbox(request)));
  co_return Response::empty(204);
}

Task<Response> change_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(sessions::ChangeRequest wanted, sessions::parse_change_request(request.body));
  CO_TRY(const auto session,
         co_await app.keeper->change(caller.project, requested_sandbox(request), std::move(wanted)));
  co_return sandbox_answer(session);
}

Task<Response> pause_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->pause(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> resume_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->resume(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> keep_sandbox_alive(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const auto ttl_s, sessions::parse_keepalive_request(request.body));
  CO_TRY(const auto session,
         co_await app.keeper->keep_alive(caller.project, requested_sandbox(request), ttl_s));
  co_return sandbox_answer(session);
}

}  // namespace glovebox::api
