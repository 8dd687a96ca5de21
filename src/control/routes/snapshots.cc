// Snapshots: POST /v1/sandboxes/{id}/snapshots and /v1/snapshots.
#include <boost/json.hpp>
#include <cerrno>
#include <utility>

#include "control/auth.h"
#include "control/routes/handlers.h"
#include "control/session_keeper.h"
#include "control/session_words.h"
#include "control/snapshot_use.h"

namespace glovebox::control::routes {
namespace {

namespace json = boost::json;

Response snapshot_answer(const store::SnapshotRecord& snapshot, int status = 200) {
  return Response::json(json::serialize(snapshot_json(snapshot)) + "\n", status);
}

Result<std::string> snapshot_project(App& app, const Request& request) {
  const auto who = principal_of(app, request);
  if (!who) return fail(Errc::kPermissionDenied, "this API key is not valid any more");
  return project_of(*who, request);
}

// A full disk is one, whether it is the sandbox's or the server's.
Response refuse_snapshot(const Error& error) {
  if (error.sys_errno() == ENOSPC || error.sys_errno() == EDQUOT || error.sys_errno() == EFBIG) {
    return Response::refuse(507, "disk_full", error.message());
  }
  return Response::from_error(error);
}

}  // namespace

Task<Response> create_snapshot(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(app, request));
  CO_TRY(std::string name, parse_snapshot_request(request.body));
  auto cancel = std::make_shared<node::CancelFlag>();
  request.on_disconnect([cancel] { cancel->cancel(); });
  std::string id(request.param("id"));
  auto snapshot =
      co_await app.keeper->snapshot(project, std::move(id), std::move(name), std::move(cancel));
  if (!snapshot) co_return refuse_snapshot(snapshot.error());
  Response response = snapshot_answer(*snapshot, 201);
  response.headers.set("Location", "/v1/snapshots/" + snapshot->id.str());
  co_return response;
}

Task<Response> list_snapshots(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(app, request));
  json::array snapshots;
  for (const store::SnapshotRecord& snapshot : app.keeper->shelf().list(project)) {
    snapshots.push_back(snapshot_json(snapshot));
  }
  const json::object body{{"snapshots", std::move(snapshots)}};
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> get_snapshot(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(app, request));
  CO_TRY(const store::SnapshotRecord snapshot,
         app.keeper->shelf().find(project, request.param("id")));
  co_return snapshot_answer(snapshot);
}

Task<Response> delete_snapshot(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const std::string project, snapshot_project(app, request));
  std::string id(request.param("id"));
  CO_TRY_OK(check_unused(app, project, id));
  CO_TRY_OK(co_await app.keeper->shelf().remove(project, std::move(id)));
  co_return Response::empty(204);
}

}  // namespace glovebox::control::routes
