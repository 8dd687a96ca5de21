#include "api/routes/sandboxes/port_routes.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/wall_clock.h"
#include "http/websocket/websocket.h"

namespace glovebox::api {

using http::Forwarded;
using http::Request;
using http::Response;
using http::ResponseWriter;
using routing::RoutedBy;

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

// The console's policy lets it load scripts of its own origin, where these addresses are. Requests
// of a port's own pages are cross-site to browsers.
bool is_loaded_by_our_pages(const Request& request) {
  const bool is_opened = request.header("Sec-Fetch-Mode") == "navigate" &&
                         request.header("Sec-Fetch-Dest") == "document";
  return request.header("Sec-Fetch-Site") == "same-origin" && !is_opened;
}

// The same for a wrong pass and for a sandbox that does not exist.
Response refuse_pass() {
  return Response::refuse(404, "port_not_found",
                          "this address is not valid, or not any more: open the port again from "
                          "the console");
}

// Port 0, for which nothing can be made: it names no port.
routing::PortTarget page_target(const Request& request) {
  return {.id = std::string(request.param("id")),
          .port = routing::parse_port(request.param("port")).value_or(0)};
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

std::span<const routing::RouteRow<PortRoutes>> PortRoutes::page_rows() {
  using http::Method;
  using routing::Access;
  constexpr std::string_view kPagePattern = "/ports/{id}/{port}/{pass}/{path*}";
  constexpr std::string_view kPageSummary =
      "Send a request of a browser to a service inside a sandbox";
  static constexpr routing::RouteRow<PortRoutes> kRows[] = {
      {Method::kGet, "/ports/{id}/{port}/open", Access::kOpen, &PortRoutes::open_page,
       "Open a port of a sandbox in a browser by a one-time link"},
      {Method::kGet, kPagePattern, Access::kOpen, &PortRoutes::forward_page, kPageSummary, 0,
       &PortRoutes::upgrade_page, true},
      {Method::kPost, kPagePattern, Access::kOpen, &PortRoutes::forward_page, kPageSummary, 0,
       nullptr, true},
      {Method::kPut, kPagePattern, Access::kOpen, &PortRoutes::forward_page, kPageSummary, 0,
       nullptr, true},
      {Method::kPatch, kPagePattern, Access::kOpen, &PortRoutes::forward_page, kPageSummary, 0,
       nullptr, true},
      {Method::kDelete, kPagePattern, Access::kOpen, &PortRoutes::forward_page, kPageSummary, 0,
       nullptr, true},
  };
  return kRows;
}

// --- With a key ----------------------------------------------------------------------------------

Task<Response> PortRoutes::forward_to_port(Request& request, ResponseWriter& writer) {
  if (is_service_worker(request)) co_return refuse_service_worker();
  CO_TRY(const std::uint16_t port, port_of(request));
  CO_TRY(SessionPtr session, deps_.lookup.session_of(request));
  co_return co_await forward(std::move(session), port, RoutedBy::kPath, request, writer);
}

asio::awaitable<void> PortRoutes::upgrade_to_port(Request& request, http::RawStream& stream) {
  const Result<std::uint16_t> port = port_of(request);
  Result<SessionPtr> session = deps_.lookup.session_of(request);
  if (port && session) {
    co_await upgrade(std::move(*session), *port, RoutedBy::kPath, request, stream);
    co_return;
  }
  Response refusal = Response::from_error(port ? session.error() : port.error());
  co_await http::refuse_upgrade(request, stream, std::move(refusal));
}

// --- In a browser --------------------------------------------------------------------------------

Task<Response> PortRoutes::open_page(Request& request, ResponseWriter&) {
  const routing::PortTarget target = page_target(request);
  const std::string link(request.query.get("link"));
  if (!deps_.links.take(link, target, std::chrono::steady_clock::now())) {
    co_return refuse_pass();
  }
  const std::string token = deps_.access.port_token_of(target.id);
  Response response = Response::empty(303);
  response.headers.add("Location", routing::port_page_path(target) +
                                       deps_.links.make_pass(target, token, wall_clock_ms()) + "/");
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Referrer-Policy", "no-referrer");
  co_return response;
}

// Null: the pass is not valid, or there is no such sandbox; both look the same.
Task<PortRoutes::SessionPtr> PortRoutes::session_of_page(const Request& request,
                                                         routing::PortTarget target) {
  const std::string pass(request.param("pass"));
  routing::SandboxAccess::Authorize rights_of = [this, pass, target](const std::string& token) {
    using Rights = routing::SandboxAccess::Rights;
    return deps_.links.is_pass(pass, target, token, wall_clock_ms()) ? Rights::kResume
                                                                     : Rights::kNone;
  };
  if (target.port == 0 || is_loaded_by_our_pages(request)) co_return nullptr;
  std::string id = target.id;
  auto admission = co_await deps_.access.admit(std::move(id), std::move(rights_of));
  if (admission.verdict != routing::SandboxAccess::Verdict::kAdmitted) co_return nullptr;
  co_return std::move(admission.session);
}

Task<Response> PortRoutes::forward_page(Request& request, ResponseWriter& writer) {
  if (is_service_worker(request)) co_return refuse_service_worker();
  const routing::PortTarget target = page_target(request);
  CO_TRY(SessionPtr session, co_await session_of_page(request, target));
  if (!session) co_return refuse_pass();
  co_return co_await forward(std::move(session), target.port, RoutedBy::kPage, request, writer);
}

asio::awaitable<void> PortRoutes::upgrade_page(Request& request, http::RawStream& stream) {
  const routing::PortTarget target = page_target(request);
  Result<SessionPtr> session = co_await session_of_page(request, target);
  if (session && *session) {
    co_await upgrade(std::move(*session), target.port, RoutedBy::kPage, request, stream);
    co_return;
  }
  Response refusal = refuse_pass();
  co_await http::refuse_upgrade(request, stream, std::move(refusal));
}

// --- Both ----------------------------------------------------------------------------------------

Task<Response> PortRoutes::forward(SessionPtr session, std::uint16_t port, RoutedBy routed_by,
                                   Request& request, ResponseWriter& writer) {
  Result<UniqueFd> socket = co_await session->connect_port(port);
  if (!socket && is_about_session(socket.error())) co_return fail(std::move(socket.error()));
  Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
  if (socket) {
    http::ProxyPlan plan = deps_.proxy.plan(request, port, routed_by);
    forwarded = co_await http::forward(request, writer, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return Response::streamed();
  // Errors of the exchange itself: the connection is cut, or the client's body is invalid.
  if (forwarded.how == Forwarded::How::kCut || forwarded.how == Forwarded::How::kClient) {
    co_return fail(std::move(forwarded.error));
  }
  co_return bad_gateway(forwarded, port);
}

asio::awaitable<void> PortRoutes::upgrade(SessionPtr session, std::uint16_t port,
                                          RoutedBy routed_by, Request& request,
                                          http::RawStream& stream) {
  Result<UniqueFd> socket = co_await session->connect_port(port);
  Forwarded forwarded = socket ? Forwarded() : refused(socket.error());
  if (socket) {
    http::ProxyPlan plan = deps_.proxy.plan(request, port, routed_by);
    forwarded =
        co_await http::forward_upgrade(request, stream, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return;
  Response refusal = bad_gateway(forwarded, port);
  co_await http::refuse_upgrade(request, stream, std::move(refusal));
}

}  // namespace glovebox::api
