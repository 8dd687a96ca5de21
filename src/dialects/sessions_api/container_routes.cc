#include "dialects/sessions_api/container_routes.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "dialects/sessions_api/session_json.h"
#include "routing/query.h"
#include "routing/sandbox_logs.h"
#include "store/store_call.h"
#include "wire/json/json_values.h"

namespace glovebox::sessions_api {

using http::Request;
using http::Response;
using http::ResponseWriter;

std::span<const routing::RouteRow<ContainerRoutes>> ContainerRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<ContainerRoutes> kRows[] = {
      {Method::kGet, "/api/v1/containers", Access::kKey, &ContainerRoutes::list_containers,
       "List the live sandboxes of your project"},
      {Method::kGet, "/api/v1/containers/{id}", Access::kKey, &ContainerRoutes::get_container,
       "Get the sandbox of a session"},
      {Method::kGet, "/api/v1/containers/{id}/logs", Access::kKey, &ContainerRoutes::container_logs,
       "Get the recent log of a session's sandbox"},
  };
  return kRows;
}

Task<Response> ContainerRoutes::list_containers(Request& request, ResponseWriter&) {
  namespace json = boost::json;
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  CO_TRY(store::SessionFilter filter, routing::parse_session_filter(request.query));
  if (filter.states.empty()) {
    filter.states = {SessionState::kStarting, SessionState::kRunning, SessionState::kPaused};
  }
  const store::Ask<store::SessionPage> ask = [&](store::Callback<store::SessionPage> done) {
    deps_.store.list_sessions(caller.project, filter, std::move(done));
  };
  CO_TRY(const store::SessionPage page, co_await store::store_call(ask));
  json::array containers;
  for (const store::SessionRecord& record : page.sessions) {
    containers.push_back(container_json(record));
  }
  json::object body{{"containers", std::move(containers)}};
  body["next_cursor"] = wire::text_or_null(page.next_cursor);
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> ContainerRoutes::get_container(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of(request));
  std::string id(request.param("id"));
  CO_TRY(const store::SessionRecord record,
         co_await deps_.registry.get(caller.project, std::move(id)));
  co_return Response::json(boost::json::serialize(container_json(record)) + "\n");
}

Task<Response> ContainerRoutes::container_logs(Request& request, ResponseWriter&) {
  return routing::respond_with_logs(deps_.authenticator, deps_.registry, request);
}

}  // namespace glovebox::sessions_api
