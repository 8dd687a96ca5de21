#include "routing/route_table.h"

namespace glovebox::routing {

Task<http::Response> RouteTable::ask_for_upgrade(http::Request&, http::ResponseWriter&) {
  http::Response response =
      http::Response::refuse(426, "upgrade_required", "this path is for WebSockets only");
  response.headers.add("Upgrade", "websocket");
  co_return response;
}

void RouteTable::add_route(const RouteInfo& info, BodyLimit max_body, http::Route route,
                           const RouteStyle& style) {
  route.method = info.method;
  route.pattern = info.pattern;
  route.max_body = max_body.bytes(max_configured_body_);
  route.cors = style.cors;
  route.error_form = style.error_form;
  route.admit = style.admit;
  if (!route.admit) {
    route.accepts_cookies = style.cookies == Cookies::kAccepted;
    route.admit = [&authenticator = authenticator_, access = info.access,
                   cookies = style.cookies](http::Request& request) {
      return authenticator.admit(request, access, cookies);
    };
  }
  routes_.push_back(std::move(route));
}

}  // namespace glovebox::routing
