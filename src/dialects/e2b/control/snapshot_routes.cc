#include "dialects/e2b/control/snapshot_routes.h"

#include <boost/json.hpp>
#include <cerrno>
#include <charconv>
#include <utility>

#include "dialects/e2b/control/sandbox_lookup.h"
#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/error_form.h"
#include "wire/json/stored_policy.h"

namespace glovebox::e2b {

using http::Request;
using http::Response;
using http::ResponseWriter;

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

// Where a page ended: after this snapshot, in the order of the store. Two snapshots of one
// millisecond are in the order of their ids.
struct PageEnd {
  std::int64_t created_ms = 0;
  std::string id{};
};

std::string token_of(const store::SnapshotRecord& snapshot) {
  return std::to_string(snapshot.created_ms) + "." + snapshot.id.str();
}

Result<PageEnd> parse_token(std::string_view token) {
  PageEnd page_end;
  const std::size_t dot = token.find('.');
  const char* end = token.data() + std::min(dot, token.size());
  const auto [stop, error] = std::from_chars(token.data(), end, page_end.created_ms);
  if (dot == std::string_view::npos || error != std::errc{} || stop != end ||
      !store::SnapshotId::parse(token.substr(dot + 1))) {
    return fail(Errc::kInvalidArgument, "nextToken: not a token of a list of snapshots");
  }
  page_end.id = std::string(token.substr(dot + 1));
  return page_end;
}

bool is_after(const store::SnapshotRecord& snapshot, const PageEnd& page_end) {
  return snapshot.created_ms < page_end.created_ms ||
         (snapshot.created_ms == page_end.created_ms && snapshot.id.str() > page_end.id);
}

// A fork has the limits, the metadata and the rules of its source.
sessions::CreateRequest fork_request(const store::SessionRecord& source, std::string snapshot,
                                     std::uint64_t timeout_s) {
  sessions::CreateRequest wanted;
  wanted.snapshot = std::move(snapshot);
  // A limit that was not requested stays the template's: a host that cannot enforce it does
  // without.
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
  wanted.host_mask = source.host_mask;
  profile.net = wire::stored_policy(source.net);
  return wanted;
}

json::value parsed_body(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  return error ? json::value(json::object{{"code", 500}, {"message", "failed"}}) : value;
}

}  // namespace

std::span<const routing::RouteRow<SnapshotRoutes>> SnapshotRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<SnapshotRoutes> kRows[] = {
      {Method::kPost, "/sandboxes/{id}/snapshots", Access::kKey, &SnapshotRoutes::create,
       "Create a snapshot of a sandbox's files (E2B)"},
      {Method::kPost, "/sandboxes/{id}/fork", Access::kKey, &SnapshotRoutes::fork,
       "Create sandboxes with the files of this one (E2B)"},
      {Method::kGet, "/snapshots", Access::kKey, &SnapshotRoutes::list,
       "List the snapshots of your project (E2B)"},
  };
  return kRows;
}

Task<Response> SnapshotRoutes::create(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(SnapshotRequest wanted, parse_snapshot(request.body));
  if (wanted.memory.value_or(false)) {
    co_return refusal(400, "memory: true is not supported; a snapshot keeps files only");
  }
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto record, co_await find_sandbox(deps_.registry, caller.project, id));
  if (record.state == SessionState::kPaused) {
    co_return refusal(409, "the sandbox is paused; connect to it first");
  }
  if (!wanted.name.empty()) {
    CO_TRY(wanted.name, deps_.names.new_snapshot_name(record.project, wanted.name));
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  auto kept =
      co_await deps_.session_snapshots.take(caller.project, id, std::move(wanted.name), cancel);
  if (!kept) co_return refuse_snapshot(kept.error(), id);
  co_return Response::json(json::serialize(snapshot_info(*kept)), 201);
}

Task<Response> SnapshotRoutes::list(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const std::uint32_t limit, parse_limit(request.query));
  std::optional<PageEnd> after;
  if (const std::string* token = request.query.find("nextToken"); token && !token->empty()) {
    CO_TRY(after, parse_token(*token));
  }
  const std::string_view sandbox = request.query.get("sandboxID");
  const std::string_view name = request.query.get("name");
  json::array page;
  std::string last;
  std::string next;
  for (const store::SnapshotRecord& snapshot : deps_.snapshots.list(caller.project)) {
    if (after && !is_after(snapshot, *after)) continue;
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

Task<Response> SnapshotRoutes::fork(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(const ForkRequest wanted, parse_fork(request.body));
  const std::string id = sandbox_id_of(request);
  CO_TRY(const auto source, co_await find_sandbox(deps_.registry, caller.project, id));
  if (source.state != SessionState::kRunning) {
    co_return refusal(404, "sandbox \"" + id + "\" is not running");
  }
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  auto kept = co_await deps_.session_snapshots.take(caller.project, id, "fork of " + id, cancel);
  if (!kept) co_return refuse_snapshot(kept.error(), id);
  // In the source's project, also when an admin key of another project asks.
  routing::Caller owner{caller.who, source.project};
  json::array results;
  for (std::uint64_t i = 0; i < wanted.count; ++i) {
    sessions::CreateRequest fork = fork_request(source, kept->id.str(), wanted.timeout_s);
    routing::CreationResult creation =
        co_await deps_.creation.create(request, owner, std::move(fork));
    if (creation.made) {
      results.push_back(json::object{
          {"sandbox", deps_.sandbox_json.with_tokens(request, creation.made->record)}});
    } else {
      results.push_back(
          json::object{{"error", parsed_body(creation_refusal(creation.refusal).body)}});
    }
  }
  co_await deps_.snapshots.remove(source.project, kept->id.str());
  co_return Response::json(json::serialize(results), 201);
}

}  // namespace glovebox::e2b
