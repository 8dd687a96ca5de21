// E2B's sandboxes: made, listed, shown, connected to, kept, paused, killed.
#include <boost/json.hpp>
#include <utility>

#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/handlers.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/template_names.h"
#include "routing/sandbox_creation.h"
#include "store/store_call.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxIdempotencyKey = 255;
constexpr std::string_view kNoReboot =
    "memory: a paused sandbox goes on where it was; it cannot be started anew here";

Response answer(const json::value& body, int status = 200) {
  return Response::json(json::serialize(body), status);
}

// A request that is sent again with the same Idempotency-Key gets the sandbox of the first one, as
// long as that lives.
Result<std::string> agent_of(const Request& request) {
  const std::string_view key = request.header("Idempotency-Key");
  if (key.empty()) return std::string();
  if (key.size() > kMaxIdempotencyKey) {
    return fail(Errc::kInvalidArgument, "Idempotency-Key: has at most 255 characters");
  }
  return "e2b:" + std::string(key);
}

Task<Response> create(routing::App& app, Request& request, std::uint64_t default_timeout) {
  CO_TRY(routing::Caller caller, routing::caller_of_one_project(app, request));
  CO_TRY(CreateSandboxRequest wanted, parse_create(request.body, default_timeout));
  CO_TRY(wanted.request.agent_id, agent_of(request));
  co_await templates::wait_for_templates(app);
  CO_TRY(Source source, find_source(app, caller.project, wanted.template_id));
  wanted.request.template_name = std::move(source.template_name);
  wanted.request.snapshot = std::move(source.snapshot);
  wanted.request.profile.net = policy_of(wanted.egress, app.settings.ceiling);
  wanted.request.net_is_default = wanted.egress.is_default();
  routing::Creation creation =
      co_await create_session_for(app, request, std::move(caller), std::move(wanted.request));
  if (!creation.made) co_return creation_refusal(creation.refusal);
  co_return answer(sandbox_json(app, request, creation.made->record), 201);
}

// The query's "template": what is not there has no sandboxes.
bool narrow_to_template(routing::App& app, const std::string& project, const Request& request,
                        store::SessionFilter& filter) {
  const std::string_view name = request.query.get("template");
  if (name.empty()) return true;
  Result<Source> source = find_source(app, project, name);
  if (!source) return false;
  const store::TemplateRecord* own =
      app.templates != nullptr ? app.templates->find(project, source->template_name) : nullptr;
  if (own != nullptr && !own->snapshot.empty()) source->snapshot = own->snapshot;
  if (!source->snapshot.empty()) {
    filter.snapshot = std::move(source->snapshot);
  } else {
    filter.template_name = std::move(source->template_name);
  }
  return true;
}

Task<Response> list(routing::App& app, Request& request, store::SessionFilter filter) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  store::SessionPage page;
  if (narrow_to_template(app, caller.project, request, filter)) {
    const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
      app.store.list_sessions(caller.project, filter, std::move(done));
    };
    CO_TRY(page, co_await store::store_call(ask));
  }
  json::array sandboxes;
  for (const store::SessionRecord& record : page.sessions) {
    sandboxes.push_back(listed_json(record));
  }
  Response response = answer(sandboxes);
  if (!page.next_cursor.empty()) response.headers.set("X-Next-Token", page.next_cursor);
  response.headers.set("X-Total-Running", std::to_string(app.keeper->running_of(caller.project)));
  co_return response;
}

// Its time is over now: what happens then is its own rule.
Task<Response> expire_now(routing::App& app, std::string project, std::string id, OnTimeout then) {
  if (then == OnTimeout::kPause) {
    auto paused = co_await app.keeper->pause(std::move(project), id);
    if (!paused) co_return fail(change_error(std::move(paused.error()), id));
  } else {
    auto destroyed = co_await app.keeper->destroy(std::move(project), id);
    if (!destroyed) co_return fail(change_error(std::move(destroyed.error()), id));
  }
  co_return Response::empty(204);
}

Task<Response> reach(routing::App& app, Request& request, std::string project, ConnectRequest wanted) {
  const std::string id = sandbox_id_of(request);
  auto reached = co_await app.keeper->reach(std::move(project), id, wanted.timeout_s);
  if (!reached) co_return fail(change_error(std::move(reached.error()), id));
  co_return answer(sandbox_json(app, request, reached->record), reached->was_resumed ? 201 : 200);
}

}  // namespace

Task<Response> create_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  co_return co_await create(app, request, kTimeoutV1);
}

Task<Response> create_sandbox_v2(routing::App& app, Request& request, ResponseWriter&) {
  co_return co_await create(app, request, kTimeoutV2);
}

Task<Response> list_sandboxes(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(store::SessionFilter filter, parse_list(request.query));
  filter.states = {SessionState::kRunning};
  co_return co_await list(app, request, std::move(filter));
}

Task<Response> list_sandboxes_v2(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(store::SessionFilter filter, parse_list(request.query));
  co_return co_await list(app, request, std::move(filter));
}

Task<Response> get_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, sandbox_id_of(request)));
  co_return answer(detail_json(app, request, record));
}

Task<Response> kill_sandbox(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  const std::string id = sandbox_id_of(request);
  CO_TRY_OK(co_await find_sandbox(app, caller.project, id));
  co_return co_await expire_now(app, caller.project, id, OnTimeout::kKill);
}

Task<Response> set_timeout(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::uint64_t seconds, parse_timeout(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, id));
  if (record.state == SessionState::kPaused) {
    co_return refusal(404, "sandbox \"" + id + "\" is paused: connect to it, and it goes on");
  }
  if (seconds == 0) co_return co_await expire_now(app, caller.project, id, record.on_timeout);
  auto kept = co_await app.keeper->keep_alive(caller.project, id, seconds);
  if (!kept) co_return fail(change_error(std::move(kept.error()), id));
  co_return Response::empty(204);
}

Task<Response> refresh(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::uint64_t seconds, parse_refresh(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, id));
  if (record.state == SessionState::kPaused) {
    co_return refusal(404, "sandbox \"" + id + "\" is paused: connect to it, and it goes on");
  }
  if (seconds != 0) {
    auto reached = co_await app.keeper->reach(caller.project, id, seconds);
    if (!reached) co_return fail(change_error(std::move(reached.error()), id));
  }
  co_return Response::empty(204);
}

Task<Response> pause(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::optional<bool> memory, parse_memory(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, id));
  if (record.state == SessionState::kPaused) co_return refusal(409, "the sandbox is paused");
  if (memory && !*memory) {
    co_return refusal(400,
                      "memory: a pause keeps the memory here; take a snapshot to keep only "
                      "the files");
  }
  auto paused = co_await app.keeper->pause(caller.project, id);
  if (paused) co_return Response::empty(204);
  if (paused.error().code() == Errc::kConflict) {
    // Somebody was faster: paused it, or ended it.
    CO_TRY_OK(co_await find_sandbox(app, caller.project, id));
    co_return refusal(409, paused.error().message());
  }
  if (paused.error().code() == Errc::kResourceExhausted) {
    co_return without_retry(refusal(paused.error()));
  }
  co_return fail(std::move(paused.error()));
}

Task<Response> resume(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const ConnectRequest wanted, parse_connect(request.body, kTimeoutV1));
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, sandbox_id_of(request)));
  if (record.state != SessionState::kPaused) co_return refusal(409, "the sandbox is running");
  co_return co_await reach(app, request, caller.project, wanted);
}

Task<Response> connect(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  const bool is_v2 = request.route.starts_with("/v2/");
  CO_TRY(const ConnectRequest wanted, parse_connect(request.body, is_v2 ? kTimeoutV2 : kTimeoutV1));
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, sandbox_id_of(request)));
  if (record.state == SessionState::kPaused && !wanted.memory) co_return refusal(400, kNoReboot);
  co_return co_await reach(app, request, caller.project, wanted);
}

Task<Response> update_network(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY_OK(co_await find_sandbox(app, caller.project, sandbox_id_of(request)));
  CO_TRY(const EgressRequest wanted, parse_egress(request.body));
  sessions::ChangeRequest change;
  change.net = policy_of(wanted, app.settings.ceiling);
  CO_TRY_OK(co_await app.keeper->change(caller.project, sandbox_id_of(request), std::move(change)));
  co_return Response::empty(204);
}

}  // namespace glovebox::e2b
