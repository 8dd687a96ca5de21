// GET /v1/sandboxes/{id}/network: what a sandbox may reach, and what it did.
#include <boost/json.hpp>
#include <utility>

#include "api/handlers.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_keeper.h"
#include "wire/network/net_policy_json.h"

namespace glovebox::api {

Task<Response> sandbox_network(routing::App& app, Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, routing::caller_of(app, request));
  std::string id(request.param("id"));
  CO_TRY(const sessions::SessionKeeper::Reach reach,
         co_await app.keeper->network(caller.project, std::move(id)));
  boost::json::object body = wire::network_json(reach.figures);
  body["net"] = wire::net_policy_json(reach.policy);
  co_return Response::json(boost::json::serialize(body) + "\n");
}

}  // namespace glovebox::api
