#include "dialects/e2b/control/sandbox_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "dialects/e2b/control/egress.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/error_form.h"
#include "store/store_call.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

constexpr std::size_t kMaxIdempotencyKey = 255;
// The template that clients ask for when their program names none and wants an MCP gateway.
constexpr std::string_view kGatewayTemplate = "mcp-gateway";
constexpr std::string_view kBaseTemplate = "base";

Response json_response(const json::value& body, int status = 200) {
  return Response::json(json::serialize(body), status);
}

// A request that is sent again with the same Idempotency-Key gets the sandbox of the first one, as
// long as that lives.
Result<std::string> agent_id_of(const Request& request) {
  const std::string_view key = request.header("Idempotency-Key");
  if (key.empty()) return std::string();
  if (key.size() > kMaxIdempotencyKey) {
    return fail(Errc::kInvalidArgument, "Idempotency-Key: must have at most 255 characters");
  }
  return "e2b:" + std::string(key);
}

sessions::PauseMode keeps_of(bool memory) {
  return memory ? sessions::PauseMode::kMemory : sessions::PauseMode::kFiles;
}

Response refuse_paused(const std::string& id) {
  return refusal(404, "sandbox \"" + id + "\" is paused; connect to it to resume it");
}

}  // namespace

std::span<const routing::RouteRow<SandboxRoutes>> SandboxRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<SandboxRoutes> kRows[] = {
      {Method::kPost, "/sandboxes", Access::kKey, &SandboxRoutes::create_v1,
       "Create a sandbox (E2B, older clients)", routing::kSandboxBody},
      {Method::kPost, "/v2/sandboxes", Access::kKey, &SandboxRoutes::create_v2,
       "Create a sandbox (E2B)", routing::kSandboxBody},
      {Method::kGet, "/sandboxes", Access::kKey, &SandboxRoutes::list_v1,
       "List running sandboxes (E2B, older clients)"},
      {Method::kGet, "/v2/sandboxes", Access::kKey, &SandboxRoutes::list_v2,
       "List the sandboxes of your project (E2B)"},
      {Method::kGet, "/sandboxes/{id}", Access::kKey, &SandboxRoutes::get, "Get a sandbox (E2B)"},
      {Method::kDelete, "/sandboxes/{id}", Access::kKey, &SandboxRoutes::kill,
       "Kill a sandbox (E2B)"},
      {Method::kPost, "/sandboxes/{id}/timeout", Access::kKey, &SandboxRoutes::set_timeout,
       "Set a sandbox's time to live (E2B)"},
      {Method::kPost, "/sandboxes/{id}/refreshes", Access::kKey, &SandboxRoutes::refresh,
       "Extend a sandbox's time to live (E2B)"},
      {Method::kPost, "/sandboxes/{id}/pause", Access::kKey, &SandboxRoutes::pause,
       "Pause a sandbox (E2B)"},
      {Method::kPost, "/sandboxes/{id}/resume", Access::kKey, &SandboxRoutes::resume,
       "Resume a paused sandbox (E2B, older clients)"},
      {Method::kPost, "/sandboxes/{id}/connect", Access::kKey, &SandboxRoutes::connect_v1,
       "Connect to a sandbox and resume it if paused (E2B, older clients)"},
      {Method::kPost, "/v2/sandboxes/{id}/connect", Access::kKey, &SandboxRoutes::connect_v2,
       "Connect to a sandbox and resume it if paused (E2B)"},
      {Method::kPut, "/sandboxes/{id}/network", Access::kKey, &SandboxRoutes::update_network,
       "Change a sandbox's network policy (E2B)"},
  };
  return kRows;
}

Task<Response> SandboxRoutes::create(Request& request, std::uint64_t default_timeout) {
  CO_TRY(routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  CO_TRY(CreateSandboxRequest wanted, parse_create(request.body, default_timeout));
  CO_TRY(wanted.request.agent_id, agent_id_of(request));
  co_await deps_.template_watcher.wait_until_known();
  CO_TRY(TemplateSource source, source_of(caller.project, wanted));
  wanted.request.template_name = std::move(source.template_name);
  wanted.request.snapshot = std::move(source.snapshot);
  wanted.request.profile.net = policy_of(wanted.egress, deps_.settings.ceiling);
  wanted.request.net_is_default = wanted.egress.is_default();
  routing::CreationResult creation =
      co_await deps_.creation.create(request, std::move(caller), std::move(wanted.request));
  if (!creation.made) co_return creation_refusal(creation.refusal);
  co_return json_response(deps_.sandbox_json.with_tokens(request, creation.made->record), 201);
}

// A server without a template "mcp-gateway" makes the sandbox from the base template, where the
// client does not find the gateway: it reports that, in its own words, and kills the sandbox.
Result<TemplateSource> SandboxRoutes::source_of(const std::string& project,
                                                const CreateSandboxRequest& wanted) const {
  Result<TemplateSource> source = deps_.names.find(project, wanted.template_id);
  const bool has_default = wanted.has_mcp && wanted.template_id == kGatewayTemplate;
  if (source || !has_default || source.error().code() != Errc::kNotFound) return source;
  return deps_.names.find(project, kBaseTemplate);
}

Task<Response> SandboxRoutes::create_v1(Request& request, ResponseWriter&) {
  co_return co_await create(request, kTimeoutV1);
}

Task<Response> SandboxRoutes::create_v2(Request& request, ResponseWriter&) {
  co_return co_await create(request, kTimeoutV2);
}

bool SandboxRoutes::filter_by_template(const std::string& project, const Request& request,
                                       store::SessionFilter& filter) const {
  const std::string_view name = request.query.get("template");
  if (name.empty()) return true;
  Result<TemplateSource> source = deps_.names.find(project, name);
  if (!source) return false;
  const store::TemplateRecord* own = deps_.templates.find(project, source->template_name);
  if (own != nullptr && !own->snapshot.empty()) source->snapshot = own->snapshot;
  if (!source->snapshot.empty()) {
    filter.snapshot = std::move(source->snapshot);
  } else {
    filter.template_name = std::move(source->template_name);
  }
  return true;
}

Task<Response> SandboxRoutes::list(Request& request, store::SessionFilter filter) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  store::SessionPage page;
  if (filter_by_template(caller.project, request, filter)) {
    const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
      deps_.store.list_sessions(caller.project, filter, std::move(done));
    };
    CO_TRY(page, co_await store::store_call(ask));
  }
  json::array sandboxes;
  for (const store::SessionRecord& record : page.sessions) {
    sandboxes.push_back(SandboxJson::listed(record));
  }
  Response response = json_response(sandboxes);
  if (!page.next_cursor.empty()) response.headers.set("X-Next-Token", page.next_cursor);
  response.headers.set("X-Total-Running",
                       std::to_string(deps_.registry.running_of(caller.project)));
  co_return response;
}

Task<Response> SandboxRoutes::list_v1(Request& request, ResponseWriter&) {
  CO_TRY(store::SessionFilter filter, parse_list(request.query));
  filter.states = {SessionState::kRunning};
  co_return co_await list(request, std::move(filter));
}

Task<Response> SandboxRoutes::list_v2(Request& request, ResponseWriter&) {
  CO_TRY(store::SessionFilter filter, parse_list(request.query));
  co_return co_await list(request, std::move(filter));
}

Task<Response> SandboxRoutes::get(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const auto record,
         co_await find_sandbox(deps_.registry, caller.project, sandbox_id_of(request)));
  co_return json_response(deps_.sandbox_json.detailed(request, record));
}

Task<Response> SandboxRoutes::expire_now(std::string project, std::string id, OnTimeout action) {
  if (action != OnTimeout::kKill) {
    const sessions::PauseMode keeps = sessions::kept_at_timeout(action);
    auto paused = co_await deps_.lifecycle.pause(std::move(project), id, keeps);
    if (!paused) co_return fail(change_error(std::move(paused.error()), id));
  } else {
    auto destroyed = co_await deps_.lifecycle.destroy(std::move(project), id);
    if (!destroyed) co_return fail(change_error(std::move(destroyed.error()), id));
  }
  co_return Response::empty(204);
}

Task<Response> SandboxRoutes::kill(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  const std::string id = sandbox_id_of(request);
  CO_TRY_OK(co_await find_sandbox(deps_.registry, caller.project, id));
  co_return co_await expire_now(caller.project, id, OnTimeout::kKill);
}

Task<Response> SandboxRoutes::set_timeout(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::uint64_t seconds, parse_timeout(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(deps_.registry, caller.project, id));
  if (record.state == SessionState::kPaused) co_return refuse_paused(id);
  if (seconds == 0) co_return co_await expire_now(caller.project, id, record.on_timeout);
  auto kept = co_await deps_.lifecycle.keep_alive(caller.project, id, seconds);
  if (!kept) co_return fail(change_error(std::move(kept.error()), id));
  co_return Response::empty(204);
}

Task<Response> SandboxRoutes::refresh(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::uint64_t seconds, parse_refresh(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(deps_.registry, caller.project, id));
  if (record.state == SessionState::kPaused) co_return refuse_paused(id);
  if (seconds != 0) {
    auto connected = co_await deps_.lifecycle.connect(caller.project, id, seconds);
    if (!connected) co_return fail(change_error(std::move(connected.error()), id));
  }
  co_return Response::empty(204);
}

Task<Response> SandboxRoutes::pause(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::optional<bool> memory, parse_memory(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(deps_.registry, caller.project, id));
  if (record.state == SessionState::kPaused) co_return refusal(409, "the sandbox is paused");
  auto paused = co_await deps_.lifecycle.pause(caller.project, id, keeps_of(memory.value_or(true)));
  if (paused) co_return Response::empty(204);
  if (paused.error().code() == Errc::kConflict) {
    // Another request has paused or ended it meanwhile.
    CO_TRY_OK(co_await find_sandbox(deps_.registry, caller.project, id));
    co_return refusal(409, paused.error().message());
  }
  if (paused.error().code() == Errc::kResourceExhausted) {
    co_return without_retry(refusal(paused.error()));
  }
  co_return fail(std::move(paused.error()));
}

Task<Response> SandboxRoutes::connect_to(Request& request, std::string project,
                                         ConnectRequest wanted) {
  const std::string id = sandbox_id_of(request);
  auto connected = co_await deps_.lifecycle.connect(std::move(project), id, wanted.timeout_s,
                                                    keeps_of(wanted.memory));
  if (!connected) co_return fail(change_error(std::move(connected.error()), id));
  co_return json_response(deps_.sandbox_json.with_tokens(request, connected->record),
                          connected->was_resumed ? 201 : 200);
}

Task<Response> SandboxRoutes::resume(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const ConnectRequest wanted, parse_connect(request.body, kTimeoutV1));
  CO_TRY(const auto record,
         co_await find_sandbox(deps_.registry, caller.project, sandbox_id_of(request)));
  if (record.state != SessionState::kPaused) co_return refusal(409, "the sandbox is running");
  co_return co_await connect_to(request, caller.project, wanted);
}

Task<Response> SandboxRoutes::connect(Request& request, std::uint64_t default_timeout) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const ConnectRequest wanted, parse_connect(request.body, default_timeout));
  CO_TRY_OK(co_await find_sandbox(deps_.registry, caller.project, sandbox_id_of(request)));
  co_return co_await connect_to(request, caller.project, wanted);
}

Task<Response> SandboxRoutes::connect_v1(Request& request, ResponseWriter&) {
  co_return co_await connect(request, kTimeoutV1);
}

Task<Response> SandboxRoutes::connect_v2(Request& request, ResponseWriter&) {
  co_return co_await connect(request, kTimeoutV2);
}

Task<Response> SandboxRoutes::update_network(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY_OK(co_await find_sandbox(deps_.registry, caller.project, sandbox_id_of(request)));
  CO_TRY(const EgressRequest wanted, parse_egress(request.body));
  sessions::ChangeRequest change;
  change.net = policy_of(wanted, deps_.settings.ceiling);
  CO_TRY_OK(
      co_await deps_.lifecycle.change(caller.project, sandbox_id_of(request), std::move(change)));
  co_return Response::empty(204);
}

}  // namespace glovebox::e2b
