// GET /v1/sandboxes/{id}/network: what a sandbox may reach, and what it did.
#include <boost/json.hpp>
#include <utility>

#include "control/routes/handlers.h"
#include "control/session_creation.h"
#include "control/session_keeper.h"
#include "wire/net_policy_json.h"

namespace glovebox::control::routes {

Task<Response> sandbox_network(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of(app, request));
  std::string id(request.param("id"));
  CO_TRY(const SessionKeeper::Reach reach,
         co_await app.keeper->network(caller.project, std::move(id)));
  boost::json::object body = wire::network_json(reach.figures);
  body["net"] = wire::net_policy_json(reach.policy);
  co_return Response::json(boost::json::serialize(body) + "\n");
}

}  // namespace glovebox::control::routes
