// E2B's snapshots: made, listed, removed; and forks, which are new sandboxes of one that lasts only
// so long. What is kept is the files: memory and processes are not.
#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <utility>

#include "dialects/e2b/handlers.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/control/template_names.h"
#include "routing/sandbox_creation.h"
#include "sessions/snapshot_use.h"
#include "templates/project_templates.h"
#include "wire/json/stored_policy.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;

json::object snapshot_info(const store::SnapshotRecord& snapshot) {
  json::array names;
  const std::string name = snapshot_name(snapshot);
  if (!name.empty()) names.emplace_back(name);
  return {{"snapshotID", snapshot_id(snapshot)}, {"names", std::move(names)}};
}

Response refuse_snapshot(const Error& error, const std::string& id) {
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT || error.sys_errno() == EFBIG) {
    return refusal(507, error.message());
  }
  if (error.code() == Errc::kResourceExhausted) return without_retry(refusal(error));
  return refusal(change_error(error, id));
}

// Where a page ended: behind this snapshot, in the order of the shelf. Two snapshots of one
// millisecond are in the order of their ids.
struct Place {
  std::int64_t created_ms = 0;
  std::string id{};
};

std::string token_of(const store::SnapshotRecord& snapshot) {
  return std::to_string(snapshot.created_ms) + "." + snapshot.id.str();
}

Result<Place> parse_token(std::string_view token) {
  Place place;
  const std::size_t dot = token.find('.');
  const char* end = token.data() + std::min(dot, token.size());
  const auto [stop, error] = std::from_chars(token.data(), end, place.created_ms);
  if (dot == std::string_view::npos || error != std::errc{} || stop != end ||
      !store::SnapshotId::parse(token.substr(dot + 1))) {
    return fail(Errc::kInvalidArgument, "nextToken: is not one of a list of snapshots");
  }
  place.id = std::string(token.substr(dot + 1));
  return place;
}

bool is_behind(const store::SnapshotRecord& snapshot, const Place& place) {
  return snapshot.created_ms < place.created_ms ||
         (snapshot.created_ms == place.created_ms && snapshot.id.str() > place.id);
}

// A copy of a sandbox's rules, for a fork of it.
sessions::CreateRequest copy_of(const store::SessionRecord& source, std::string snapshot,
                      std::uint64_t timeout_s) {
  sessions::CreateRequest wanted;
  wanted.snapshot = std::move(snapshot);
  // What nobody asked for stays the template's: a host that cannot enforce it does without.
  const Limits& limits = source.limits;
  ProfileRequest& profile = wanted.profile;
  if (limits.was_asked_for(LimitKind::kMemory)) profile.memory_bytes = limits.memory_bytes;
  if (limits.was_asked_for(LimitKind::kDisk)) profile.disk_bytes = limits.disk_bytes;
  if (limits.was_asked_for(LimitKind::kPids)) profile.pids = limits.pids;
  if (limits.was_asked_for(LimitKind::kCpus)) profile.cpu_thousandths = limits.cpu_thousandths;
  wanted.ttl_s = timeout_s;
  wanted.env = source.env;
  wanted.metadata = source.metadata;
  wanted.on_timeout = source.on_timeout;
  wanted.private_ports = !source.port_token.empty();
  profile.net = wire::stored_policy(source.net);
  return wanted;
}

json::value parsed(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(json::object{{"code", 500}, {"message", "failed"}}) : value;
}

}  // namespace

Task<Response> create_snapshot(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(SnapshotRequest wanted, parse_snapshot(request.body));
  if (wanted.memory.value_or(false)) {
    co_return refusal(400, "memory: a snapshot keeps files only; say false, or leave it out");
  }
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(app, caller.project, id));
  if (record.state == SessionState::kPaused) {
    co_return refusal(409, "the sandbox is paused: connect to it first");
  }
  if (!wanted.name.empty()) {
    CO_TRY(wanted.name, parse_snapshot_name(app, record.project, wanted.name));
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  auto kept = co_await app.keeper->snapshot(caller.project, id, std::move(wanted.name), cancel);
  if (!kept) co_return refuse_snapshot(kept.error(), id);
  co_return Response::json(json::serialize(snapshot_info(*kept)), 201);
}

Task<Response> list_snapshots(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const std::uint32_t limit, parse_limit(request.query));
  std::optional<Place> behind;
  if (const std::string* token = request.query.find("nextToken"); token && !token->empty()) {
    CO_TRY(behind, parse_token(*token));
  }
  const std::string_view sandbox = request.query.get("sandboxID");
  const std::string_view name = request.query.get("name");
  json::array page;
  std::string last;
  std::string next;
  for (const store::SnapshotRecord& snapshot : app.keeper->shelf().list(caller.project)) {
    if (behind && !is_behind(snapshot, *behind)) continue;
    if (!sandbox.empty() && snapshot.sandbox != sandbox) continue;
    if (!name.empty() && !matches_name(snapshot, name)) continue;
    if (page.size() == limit) {
      next = last;
      break;
    }
    page.push_back(snapshot_info(snapshot));
    last = token_of(snapshot);
  }
  Response response = Response::json(json::serialize(page));
  if (!next.empty()) response.headers.set("X-Next-Token", next);
  co_return response;
}

Task<Response> fork(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const ForkRequest wanted, parse_fork(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto source, co_await find_sandbox(app, caller.project, id));
  if (source.state != SessionState::kRunning) {
    co_return refusal(404, "sandbox \"" + id + "\" is not running");
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  auto kept = co_await app.keeper->snapshot(caller.project, id, "fork of " + id, cancel);
  if (!kept) co_return refuse_snapshot(kept.error(), id);
  // Of the source's project also when an admin key asks for another's.
  routing::Caller owner{caller.who, source.project};
  json::array results;
  for (std::uint64_t i = 0; i < wanted.count; ++i) {
    sessions::CreateRequest wanted = copy_of(source, kept->id.str(), wanted.timeout_s);
    routing::Creation creation = co_await routing::create_session_for(app, request, owner, std::move(wanted));
    if (creation.made) {
      results.push_back(
          json::object{{"sandbox", sandbox_json(app, request, creation.made->record)}});
    } else {
      results.push_back(json::object{{"error", parsed(creation_refusal(creation.refusal).body)}});
    }
  }
  co_await app.keeper->shelf().remove(source.project, kept->id.str());
  co_return Response::json(json::serialize(results), 201);
}

Task<Response> delete_template(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  CO_TRY(const Source source, find_source(app, caller.project, request.param("id")));
  const bool is_own = source.snapshot.empty() && app.templates != nullptr &&
                      app.templates->find(caller.project, source.template_name) != nullptr;
  if (is_own) {
    std::string project = caller.project;
    std::string name = source.template_name;
    CO_TRY_OK(co_await app.templates->remove(std::move(project), std::move(name)));
    co_return Response::empty(204);
  }
  if (source.snapshot.empty()) {
    co_return refusal(403, "this template is the server's own: its administrator removes it");
  }
  CO_TRY_OK(sessions::check_unused(app, caller.project, source.snapshot));
  CO_TRY_OK(co_await app.keeper->shelf().remove(caller.project, source.snapshot));
  co_return Response::empty(204);
}

}  // namespace glovebox::e2b
