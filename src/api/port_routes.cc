// HTTP and WebSocket services inside a sandbox, through the server: by path with a key, or by a
// name or headers of their own. The only sockets used are those that the session itself has
// connected, inside its own network; there is no way from here to an address of the host.

#include <string>

#include "api/handlers.h"
#include "api/port_routing.h"
#include "base/constant_time.h"
#include "dialects/e2b/envd_router.h"
#include "http/websocket/websocket.h"
#include "routing/port_proxy.h"
#include "routing/sandbox_lookup.h"
#include "sessions/session_keeper.h"

namespace glovebox::api {

namespace routes {
namespace {

using http::Forwarded;

// A refusal of our own, by path.
Response bad_gateway(const Forwarded& forwarded, std::uint16_t port) {
  const std::string where = "port " + std::to_string(port) + " of the sandbox: ";
  switch (forwarded.how) {
    case Forwarded::How::kRefused:
      return Response::refuse(502, "bad_gateway", where + "nothing listens there");
    case Forwarded::How::kSilent:
      return Response::refuse(504, "gateway_timeout", where + "no answer in time");
    default:
      return Response::refuse(502, "bad_gateway", where + forwarded.error.message());
  }
}

bool is_service_worker(const Request& request) {
  return request.header("Service-Worker") == "script" ||
         request.header("Sec-Fetch-Dest") == "serviceworker";
}

Response refuse_service_worker() {
  return Response::refuse(403, "service_worker",
                          "no service worker is registered under this address; use the host name");
}

Result<std::uint16_t> port_of(const Request& request) {
  const auto port = routing::parse_port(request.param("port"));
  if (!port) return fail(Errc::kInvalidArgument, "port: a number from 1 to 65535");
  return *port;
}

Forwarded refused(Error error) {
  return {.how = Forwarded::How::kRefused, .error = std::move(error)};
}

// The session's own word about itself is not the port's.
bool is_about_session(const Error& error) {
  return error.code() == Errc::kConflict || error.code() == Errc::kResourceExhausted;
}

}  // namespace

Task<Response> forward_to_port(routing::App& app, Request& request, ResponseWriter& writer) {
  if (is_service_worker(request)) co_return refuse_service_worker();
  CO_TRY(const std::uint16_t port, port_of(request));
  CO_TRY(const std::shared_ptr<node::Session> session, routing::session_of(app, request));
  Result<UniqueFd> socket = co_await session->connect_port(port);
  if (!socket && is_about_session(socket.error())) co_return fail(std::move(socket.error()));
  Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
  if (socket) {
    http::ProxyPlan plan = routing::port_plan(app, request, port, routing::PortRouting::kPath);
    forwarded = co_await http::forward(request, writer, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return Response::streamed();
  // These are errors of the exchange itself: it is cut, or the client hears of its own body.
  if (forwarded.how == Forwarded::How::kCut || forwarded.how == Forwarded::How::kClient) {
    co_return fail(std::move(forwarded.error));
  }
  co_return bad_gateway(forwarded, port);
}

asio::awaitable<void> upgrade_to_port(routing::App& app, Request& request, http::RawStream& stream) {
  std::optional<Response> refusal;
  const Result<std::uint16_t> port = port_of(request);
  Result<std::shared_ptr<node::Session>> session = routing::session_of(app, request);
  if (!port) {
    refusal = Response::from_error(port.error());
  } else if (!session) {
    refusal = Response::from_error(session.error());
  } else {
    Result<UniqueFd> socket = co_await (*session)->connect_port(*port);
    Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
    if (socket) {
      http::ProxyPlan plan = routing::port_plan(app, request, *port, routing::PortRouting::kPath);
      forwarded =
          co_await http::forward_upgrade(request, stream, std::move(*socket), std::move(plan));
    }
    if (forwarded.how == Forwarded::How::kAnswered) co_return;
    refusal = bad_gateway(forwarded, *port);
  }
  co_await http::refuse_upgrade(request, stream, std::move(*refusal));
}

}  // namespace routes

namespace {

using http::Forwarded;
using http::Request;
using http::Response;

// Whoever comes by name or header. The door's session, or the answer.
struct Entry {
  std::shared_ptr<node::Session> session;
  std::optional<Response> refusal;
};

bool is_token(std::string_view given, const std::string& token) {
  return equal_in_constant_time(given, token);
}

asio::awaitable<Entry> enter(routing::App& app, const Request& request, const routing::PortTarget wish) {
  Entry entry;
  if (app.keeper != nullptr) co_await app.keeper->wake(wish.id);
  const sessions::Sessions::Door door = app.sessions.door(wish.id);
  if (wish.id.empty() || door.session == nullptr) {
    entry.refusal = routing::port_refusal(502, wish.id, "The sandbox was not found");
    co_return entry;
  }
  if (!door.token.empty()) {
    const bool is_good = is_token(request.header("X-Glovebox-Port-Token"), door.token) ||
                         is_token(request.header("E2b-Traffic-Access-Token"), door.token);
    if (!is_good) {
      entry.refusal =
          routing::port_refusal(403, wish.id,
                       "This sandbox's ports are private: send its token in X-Glovebox-Port-Token");
      co_return entry;
    }
  }
  if (wish.port == 0) {
    entry.refusal = routing::port_refusal(502, wish.id, "There is no such port");
    co_return entry;
  }
  entry.session = door.session;
  co_return entry;
}

Response door_refusal(const routing::PortTarget& wish, const Forwarded& forwarded) {
  switch (forwarded.how) {
    case Forwarded::How::kRefused:
      return routing::port_refusal(502, wish.id, "The sandbox is running but port is not open", wish.port);
    case Forwarded::How::kSilent:
      return routing::port_refusal(504, wish.id, "The sandbox did not answer in time", wish.port);
    default:
      return routing::port_refusal(502, wish.id, "The sandbox's answer is not HTTP", wish.port);
  }
}

routing::PortTarget wish_in(const Request& request) {
  return {.id = std::string(request.param("id")),
          .port = routing::parse_port(request.param("port")).value_or(0)};
}

Task<Response> forward_by_name(routing::App& app, Request& request, http::ResponseWriter& writer) {
  const routing::PortTarget wish = wish_in(request);
  Entry entry = co_await enter(app, request, wish);
  if (entry.refusal) co_return std::move(*entry.refusal);
  Result<UniqueFd> socket = co_await entry.session->connect_port(wish.port);
  Forwarded forwarded{.how = Forwarded::How::kRefused};
  if (socket) {
    http::ProxyPlan plan = routing::port_plan(app, request, wish.port, routing::PortRouting::kHost);
    forwarded = co_await http::forward(request, writer, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return Response::streamed();
  if (forwarded.how == Forwarded::How::kCut || forwarded.how == Forwarded::How::kClient) {
    co_return fail(std::move(forwarded.error));
  }
  co_return door_refusal(wish, forwarded);
}

asio::awaitable<void> upgrade_by_name(routing::App& app, Request& request, http::RawStream& stream) {
  const routing::PortTarget wish = wish_in(request);
  Entry entry = co_await enter(app, request, wish);
  if (!entry.refusal) {
    Result<UniqueFd> socket = co_await entry.session->connect_port(wish.port);
    Forwarded forwarded{.how = Forwarded::How::kRefused};
    if (socket) {
      http::ProxyPlan plan = routing::port_plan(app, request, wish.port, routing::PortRouting::kHost);
      forwarded =
          co_await http::forward_upgrade(request, stream, std::move(*socket), std::move(plan));
    }
    if (forwarded.how == Forwarded::How::kAnswered) co_return;
    entry.refusal = door_refusal(wish, forwarded);
  }
  co_await http::refuse_upgrade(request, stream, std::move(*entry.refusal));
}

}  // namespace

std::function<const http::Route*(http::Request&)> port_doors(routing::App& app) {
  const auto route = std::make_shared<http::Route>();
  route->pattern = "(port)";
  route->cors = http::Cors::kForwarded;
  route->streams_body = true;
  route->admits_itself = true;
  route->handler = [&app](Request& request, http::ResponseWriter& writer) {
    return forward_by_name(app, request, writer);
  };
  route->upgrade = [&app](Request& request, http::RawStream& stream) {
    return upgrade_by_name(app, request, stream);
  };
  const auto doors = std::make_shared<e2b::EnvdRouter>(app);
  return [route, doors](Request& request) -> const http::Route* {
    const std::optional<routing::PortTarget> wish = routing::port_target_of(request);
    if (!wish) return doors->find_signed(request);
    request.path_params.add("id", wish->id);
    request.path_params.add("port", std::to_string(wish->port));
    const http::Route* virtual_port = doors->find(request, *wish);
    return virtual_port != nullptr ? virtual_port : route.get();
  };
}

}  // namespace glovebox::api
