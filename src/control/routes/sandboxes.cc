// /v1/sandboxes: made, listed, shown, changed, paused, resumed, kept alive, ended.
#include <boost/json.hpp>
#include <utility>

#include "control/routes/handlers.h"
#include "control/session_creation.h"
#include "control/session_keeper.h"
#include "control/session_words.h"
#include "control/store_call.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

Response sandbox_answer(const store::SessionRecord& session, int status = 200) {
  return Response::json(json::serialize(sandbox_json(session)) + "\n", status);
}

std::string requested_sandbox(const Request& request) { return std::string(request.param("id")); }

}  // namespace

Task<Response> create_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(Caller caller, caller_of_one_project(app, request));
  CO_TRY(CreateRequest wanted, parse_create_request(request.body));
  const Creation creation =
      co_await create_session_for(app, request, std::move(caller), std::move(wanted));
  if (!creation.made) co_return creation.refusal;
  const SessionKeeper::Created& created = *creation.made;
  json::object body = sandbox_json(created.record);
  const std::string& token = created.record.port_token;
  if (created.is_new && !token.empty()) body["port_token"] = token;
  Response response = Response::json(json::serialize(body) + "\n", created.is_new ? 201 : 200);
  response.headers.set("Location", "/v1/sandboxes/" + created.record.id.str());
  co_return response;
}

Task<Response> list_sandboxes(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const store::SessionFilter filter, parse_session_filter(request.query));
  const Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    app.store.list_sessions(caller.project, filter, std::move(done));
  };
  CO_TRY(const store::SessionPage page, co_await store_call(ask));
  json::array sandboxes;
  for (const store::SessionRecord& session : page.sessions) {
    sandboxes.push_back(sandbox_json(session));
  }
  json::object body{{"sandboxes", std::move(sandboxes)}};
  body["next_cursor"] =
      page.next_cursor.empty() ? json::value(nullptr) : json::value(page.next_cursor);
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->get(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> delete_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY_OK(co_await app.keeper->destroy(caller.project, requested_sandbox(request)));
  co_return Response::empty(204);
}

Task<Response> change_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(ChangeRequest wanted, parse_change_request(request.body));
  CO_TRY(const auto session, co_await app.keeper->change(caller.project, requested_sandbox(request),
                                                         std::move(wanted)));
  co_return sandbox_answer(session);
}

Task<Response> pause_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto session,
         co_await app.keeper->pause(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> resume_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto session,
         co_await app.keeper->resume(caller.project, requested_sandbox(request)));
  co_return sandbox_answer(session);
}

Task<Response> keep_sandbox_alive(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto ttl_s, parse_keepalive_request(request.body));
  CO_TRY(const auto session,
         co_await app.keeper->keep_alive(caller.project, requested_sandbox(request), ttl_s));
  co_return sandbox_answer(session);
}

}  // namespace glovebox::control::routes
