#include "api/routes/sandboxes/snapshot_routes.h"

#include <boost/json.hpp>
#include <cerrno>
#include <utility>

#include "sessions/session_json.h"
#include "sessions/session_request.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

Response snapshot_answer(const store::SnapshotRecord& snapshot, int status = 200) {
  return Response::json(json::serialize(sessions::snapshot_json(snapshot)) + "\n", status);
}

Result<std::string> snapshot_project(const SnapshotRoutes::Dependencies& deps,
                                     const Request& request) {
  const auto who = deps.authenticator.principal_of(request);
  if (!who) return fail(Errc::kPermissionDenied, "this API key is no longer valid");
  return routing::project_of(*who, request);
}

// A full disk gets the same error, whether it is the sandbox's or the server's.
Response refuse_snapshot(const Error& error) {
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT || error.sys_errno() == EFBIG) {
    return Response::refuse(507, "disk_full", error.message());
  }
  return Response::from_error(error);
}

}  // namespace

std::span<const routing::RouteRow<SnapshotRoutes>> SnapshotRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<SnapshotRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/snapshots", routing::Access::kKey,
       &SnapshotRoutes::create_snapshot, "Create a snapshot of a sandbox's files"},
      {Method::kGet, "/v1/snapshots", routing::Access::kKey, &SnapshotRoutes::list_snapshots,
       "List the snapshots of your project"},
      {Method::kGet, "/v1/snapshots/{id}", routing::Access::kKey, &SnapshotRoutes::get_snapshot,
       "Get a snapshot"},
      {Method::kDelete, "/v1/snapshots/{id}", routing::Access::kKey,
       &SnapshotRoutes::delete_snapshot, "Remove a snapshot"},
  };
  return kRows;
}

Task<Response> SnapshotRoutes::create_snapshot(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(deps_, request));
  CO_TRY(std::string name, sessions::parse_snapshot_request(request.body));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  std::string id(request.param("id"));
  auto snapshot = co_await deps_.session_snapshots.take(project, std::move(id), std::move(name),
                                                        std::move(cancel));
  if (!snapshot) co_return refuse_snapshot(snapshot.error());
  Response response = snapshot_answer(*snapshot, 201);
  response.headers.set("Location", "/v1/snapshots/" + snapshot->id.str());
  co_return response;
}

Task<Response> SnapshotRoutes::list_snapshots(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(deps_, request));
  json::array snapshots;
  for (const store::SnapshotRecord& snapshot : deps_.snapshots.list(project)) {
    snapshots.push_back(sessions::snapshot_json(snapshot));
  }
  const json::object body{{"snapshots", std::move(snapshots)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> SnapshotRoutes::get_snapshot(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(deps_, request));
  CO_TRY(const store::SnapshotRecord snapshot, deps_.snapshots.find(project, request.param("id")));
  co_return snapshot_answer(snapshot);
}

Task<Response> SnapshotRoutes::delete_snapshot(Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(deps_, request));
  std::string id(request.param("id"));
  CO_TRY_OK(deps_.templates.check_snapshot_unused(project, id));
  CO_TRY_OK(co_await deps_.snapshots.remove(project, std::move(id)));
  co_return Response::empty(204);
}

}  // namespace glovebox::api
