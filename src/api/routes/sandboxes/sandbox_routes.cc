#include "api/routes/sandboxes/sandbox_routes.h"

#include <boost/json.hpp>
#include <deque>
#include <utility>
#include <vector>

#include "routing/query.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_json.h"
#include "store/over_quota.h"
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

// Of each sample and the one before: how many CPUs were in use, and the memory at its end.
json::object stats_json(const std::deque<sessions::SessionSample>& samples) {
  constexpr std::size_t kShown = 30;
  json::array cpus;
  json::array memory;
  const std::size_t first = samples.size() > kShown ? samples.size() - kShown : 1;
  for (std::size_t i = first; i < samples.size(); ++i) {
    const sessions::SessionSample& before = samples[i - 1];
    const sessions::SessionSample& now = samples[i];
    const std::int64_t ms = now.at_ms - before.at_ms;
    const bool is_counted = ms > 0 && now.cpu_us && before.cpu_us && *now.cpu_us >= *before.cpu_us;
    cpus.push_back(is_counted ? json::value(static_cast<double>(*now.cpu_us - *before.cpu_us) /
                                            (static_cast<double>(ms) * 1000.0))
                              : json::value(nullptr));
    memory.push_back(now.memory_bytes ? json::value(*now.memory_bytes) : json::value(nullptr));
  }
  return {{"cpus", std::move(cpus)}, {"memory_bytes", std::move(memory)}};
}

Result<bool> wants_stats(const http::Params& query) {
  const std::string* asked = query.find("stats");
  if (asked == nullptr || *asked == "0") return false;
  if (*asked != "1") return fail(Errc::kInvalidArgument, "stats: must be 0 or 1");
  return true;
}

// The metadata of each sandbox may have 280 KB.
constexpr std::size_t kLargeMetadata = 256 * 1024;

std::size_t metadata_bytes(const store::SessionPage& page) {
  std::size_t bytes = 0;
  for (const store::SessionRecord& session : page.sessions) {
    for (const auto& [key, value] : session.metadata) bytes += key.size() + value.size();
  }
  return bytes;
}

// `stats`: of each session of the page, or of none.
std::string page_text(const store::SessionPage& page, const std::vector<json::object>& stats,
                      bool with_project) {
  json::array sandboxes;
  for (std::size_t i = 0; i < page.sessions.size(); ++i) {
    const store::SessionRecord& session = page.sessions[i];
    json::object sandbox = sessions::sandbox_json(session);
    if (with_project) sandbox["project"] = session.project;
    if (!stats.empty()) sandbox["stats"] = stats[i];
    sandboxes.push_back(std::move(sandbox));
  }
  json::object body{{"sandboxes", std::move(sandboxes)}};
  body["next_cursor"] =
      page.next_cursor.empty() ? json::value(nullptr) : json::value(page.next_cursor);
  if (page.total) {
    body["total"] = *page.total;
    body["total_is_bounded"] = page.is_total_bounded;
  }
  return json::serialize(body) + "\n";
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
  CO_TRY(const store::SessionFilter filter, routing::parse_session_filter(request.query, "stats"));
  CO_TRY(const bool with_stats, wants_stats(request.query));
  const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    deps_.store.list_sessions(caller.project, filter, std::move(done));
  };
  CO_TRY(store::SessionPage page, co_await store::store_call(ask));
  std::vector<json::object> stats;
  for (const store::SessionRecord& session : page.sessions) {
    if (!with_stats) break;
    const auto entry = deps_.registry.find(session.project, session.id.str());
    stats.push_back(entry ? stats_json(entry->samples) : stats_json({}));
  }
  const bool is_large = metadata_bytes(page) > kLargeMetadata;
  const bool with_project = caller.project == "*";
  auto writing = [page = std::move(page), stats = std::move(stats), with_project] {
    return page_text(page, stats, with_project);
  };
  if (!is_large) co_return deps_.responses.respond(request.owner, writing());
  std::string body = co_await deps_.worker.run(request.owner, std::move(writing));
  co_return deps_.responses.respond(request.owner, std::move(body));
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
