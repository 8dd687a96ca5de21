// /v1/sandboxes: made, listed, shown, changed, paused, resumed, kept alive, ended.
#include <boost/json.hpp>
#include <cerrno>
#include <utility>

#include "control/auth.h"
#include "control/routes/handlers.h"
#include "control/run_refusal.h"
#include "control/session_keeper.h"
#include "control/session_words.h"
#include "control/store_call.h"
#include "control/template_watch.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

Response sandbox_answer(const store::SessionRecord& session, int status = 200) {
  return Response::json(json::serialize(sandbox_json(session)) + "\n", status);
}

// Whose sandboxes, and by whom.
struct Caller {
  store::Principal who;
  std::string project;
};

Result<Caller> caller_of(App& app, const Request& request) {
  auto who = principal_of(app, request);
  if (!who) return fail(Errc::kPermissionDenied, "this API key is not valid any more");
  TRY(std::string project, project_of(*who, request));
  return Caller{std::move(*who), std::move(project)};
}

std::string id_of(const Request& request) { return std::string(request.param("id")); }

Response refuse_creation(App& app, const Error& error, const CreateRequest& wanted) {
  const bool is_snapshot = error.code() == Errc::kNotFound && !wanted.snapshot.empty();
  Response refusal = is_snapshot ? Response::from_error(error) : refuse_run(error);
  // Its own disk is too small for what is in the snapshot.
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT) {
    refusal = Response::refuse(507, "disk_full", error.message());
  }
  app.metrics.count_refusal(refusal.problem ? refusal.problem->code : "internal");
  return refusal;
}

}  // namespace

Task<Response> create_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(Caller caller, caller_of(app, request));
  if (caller.project == "*") {
    co_return Response::refuse(400, "invalid_argument", "project: name one");
  }
  CO_TRY(CreateRequest wanted, parse_create_request(request.body));
  co_await wait_for_templates(app);
  auto promise = app.keeper->promise_of(wanted, caller.project);
  if (!promise) co_return refuse_creation(app, promise.error(), wanted);
  auto admission = app.usage.admit(caller.who, *promise, std::chrono::steady_clock::now());
  if (!admission) {
    app.metrics.count_refusal("key_limit");
    co_return refuse_run(admission.error());
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  SessionKeeper::Owner owner{.project = caller.project, .key = caller.who.key};
  Result<SessionKeeper::Created> created = co_await app.keeper->create(
      wanted, std::move(owner), std::move(*admission), std::move(cancel));
  if (!created) co_return refuse_creation(app, created.error(), wanted);
  json::object body = sandbox_json(created->record);
  const std::string& token = created->record.port_token;
  if (created->is_new && !token.empty()) body["port_token"] = token;
  Response response = Response::json(json::serialize(body) + "\n", created->is_new ? 201 : 200);
  response.headers.set("Location", "/v1/sandboxes/" + created->record.id.str());
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
  CO_TRY(const auto session, co_await app.keeper->get(caller.project, id_of(request)));
  co_return sandbox_answer(session);
}

Task<Response> delete_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY_OK(co_await app.keeper->destroy(caller.project, id_of(request)));
  co_return Response::empty(204);
}

Task<Response> change_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(ChangeRequest wanted, parse_change_request(request.body));
  CO_TRY(const auto session,
         co_await app.keeper->change(caller.project, id_of(request), std::move(wanted)));
  co_return sandbox_answer(session);
}

Task<Response> pause_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->pause(caller.project, id_of(request)));
  co_return sandbox_answer(session);
}

Task<Response> resume_sandbox(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto session, co_await app.keeper->resume(caller.project, id_of(request)));
  co_return sandbox_answer(session);
}

Task<Response> keep_sandbox_alive(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  CO_TRY(const auto ttl_s, parse_keepalive_request(request.body));
  CO_TRY(const auto session,
         co_await app.keeper->keep_alive(caller.project, id_of(request), ttl_s));
  co_return sandbox_answer(session);
}

}  // namespace glovebox::control::routes
