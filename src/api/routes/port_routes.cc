#include "api/routes/port_routes.h"

#include <string>

#include "http/websocket/websocket.h"

namespace glovebox::api {

using http::Forwarded;
using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

// A refusal by the server, for requests by path.
Response bad_gateway(const Forwarded& forwarded, std::uint16_t port) {
  const std::string where = "port " + std::to_string(port) + " of the sandbox: ";
  switch (forwarded.how) {
    case Forwarded::How::kRefused:
      return Response::refuse(502, "bad_gateway", where + "no process listens there");
    case Forwarded::How::kSilent:
      return Response::refuse(504, "gateway_timeout", where + "it did not answer in time");
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
                          "service workers are not allowed under this address; use the host name");
}

Result<std::uint16_t> port_of(const Request& request) {
  const auto port = routing::parse_port(request.param("port"));
  if (!port) return fail(Errc::kInvalidArgument, "port: must be a number from 1 to 65535");
  return *port;
}

Forwarded refused(Error error) {
  return {.how = Forwarded::How::kRefused, .error = std::move(error)};
}

// An error of the session itself is not an error of the port.
bool is_about_session(const Error& error) {
  return error.code() == Errc::kConflict || error.code() == Errc::kResourceExhausted;
}

}  // namespace

std::span<const routing::RouteRow<PortRoutes>> PortRoutes::rows() {
  using http::Method;
  using routing::Access;
  constexpr std::string_view kPattern = "/v1/sandboxes/{id}/ports/{port}/{path*}";
  constexpr std::string_view kSummary = "Send a request to a service inside a sandbox";
  static constexpr routing::RouteRow<PortRoutes> kRows[] = {
      {Method::kGet, kPattern, Access::kKey, &PortRoutes::forward_to_port, kSummary, 0,
       &PortRoutes::upgrade_to_port, true},
      {Method::kPost, kPattern, Access::kKey, &PortRoutes::forward_to_port, kSummary, 0, nullptr,
       true},
      {Method::kPut, kPattern, Access::kKey, &PortRoutes::forward_to_port, kSummary, 0, nullptr,
       true},
      {Method::kPatch, kPattern, Access::kKey, &PortRoutes::forward_to_port, kSummary, 0, nullptr,
       true},
      {Method::kDelete, kPattern, Access::kKey, &PortRoutes::forward_to_port, kSummary, 0, nullptr,
       true},
  };
  return kRows;
}

Task<Response> PortRoutes::forward_to_port(Request& request, ResponseWriter& writer) {
  if (is_service_worker(request)) co_return refuse_service_worker();
  CO_TRY(const std::uint16_t port, port_of(request));
  CO_TRY(const std::shared_ptr<node::Session> session, deps_.lookup.session_of(request));
  Result<UniqueFd> socket = co_await session->connect_port(port);
  if (!socket && is_about_session(socket.error())) co_return fail(std::move(socket.error()));
  Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
  if (socket) {
    http::ProxyPlan plan = deps_.proxy.plan(request, port, routing::RoutedBy::kPath);
    forwarded = co_await http::forward(request, writer, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return Response::streamed();
  // Errors of the exchange itself: the connection is cut, or the client's body is invalid.
  if (forwarded.how == Forwarded::How::kCut || forwarded.how == Forwarded::How::kClient) {
    co_return fail(std::move(forwarded.error));
  }
  co_return bad_gateway(forwarded, port);
}

asio::awaitable<void> PortRoutes::upgrade_to_port(Request& request, http::RawStream& stream) {
  std::optional<Response> refusal;
  const Result<std::uint16_t> port = port_of(request);
  Result<std::shared_ptr<node::Session>> session = deps_.lookup.session_of(request);
  if (!port) {
    refusal = Response::from_error(port.error());
  } else if (!session) {
    refusal = Response::from_error(session.error());
  } else {
    Result<UniqueFd> socket = co_await (*session)->connect_port(*port);
    Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
    if (socket) {
      http::ProxyPlan plan = deps_.proxy.plan(request, *port, routing::RoutedBy::kPath);
      forwarded =
          co_await http::forward_upgrade(request, stream, std::move(*socket), std::move(plan));
    }
    if (forwarded.how == Forwarded::How::kAnswered) co_return;
    refusal = bad_gateway(forwarded, *port);
  }
  co_await http::refuse_upgrade(request, stream, std::move(*refusal));
}

}  // namespace glovebox::api
