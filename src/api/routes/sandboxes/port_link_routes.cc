#include "api/routes/sandboxes/port_link_routes.h"

#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "wire/json/json_values.h"
#include "wire/json/object_reader.h"
#include "wire/json/strict_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

// "http://8000-sbid.localhost:7070"; empty: ports have no host names here.
std::string origin_of_port(const PortLinkRoutes::Dependencies& deps, const Request& request,
                           const routing::PortTarget& target) {
  const std::string label = std::to_string(target.port) + "-" + target.id + ".";
  const bool is_proxied = !deps.origins.public_origin.empty();
  if (!is_proxied && http::names_loopback(request.host)) {
    // A browser takes every name below localhost for this machine.
    const std::size_t colon = request.host.rfind(':');
    const bool has_port =
        colon != std::string::npos && request.host.find(']', colon) == std::string::npos;
    return (request.tls ? "https://" : "http://") + label + "localhost" +
           (has_port ? request.host.substr(colon) : std::string());
  }
  if (deps.domain.empty()) return {};
  const std::string port = http::port_at_domain(request.host, deps.domain);
  return (is_proxied || request.tls ? "https://" : "http://") + label + deps.domain +
         (port.empty() ? std::string() : ":" + port);
}

Result<std::uint16_t> read_port(std::string_view body) {
  TRY(const json::value document, wire::parse_strict_json(body));
  TRY(wire::ObjectReader fields, wire::ObjectReader::open(document, ""));
  TRY(const auto port, fields.whole("port", 1, 65'535));
  TRY_OK(fields.finish());
  if (!port) return fields.bad("port", "is missing");
  return static_cast<std::uint16_t>(*port);
}

Response link_response(const std::string& url, bool own_origin, json::value expires_in_s) {
  const json::object body{{"url", wire::text_or_null(url)},
                          {"own_origin", own_origin},
                          {"expires_in_s", std::move(expires_in_s)}};
  Response response = Response::json(json::serialize(body) + "\n", 201);
  response.headers.set("Cache-Control", "no-store");
  return response;
}

}  // namespace

std::span<const routing::RouteRow<PortLinkRoutes>> PortLinkRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<PortLinkRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/port-links", routing::Access::kKey,
       &PortLinkRoutes::create_link, "Create an address that opens a port in a browser"},
  };
  return kRows;
}

Task<Response> PortLinkRoutes::create_link(Request& request, ResponseWriter&) {
  CO_TRY(const auto session, deps_.lookup.session_of(request));
  CO_TRY(const std::uint16_t port, read_port(request.body));
  const routing::PortTarget target{.id = std::string(request.param("id")), .port = port};
  const std::string origin = origin_of_port(deps_, request, target);
  // Without host names the port is shown below the server's own address.
  const std::string base = origin.empty() ? http::own_origin(deps_.origins, request) : origin;
  if (base.empty()) co_return link_response("", false, nullptr);
  if (!origin.empty() && deps_.access.port_token_of(target.id).empty()) {
    co_return link_response(origin + "/", true, nullptr);
  }
  const auto link = deps_.links.make(target, std::chrono::steady_clock::now());
  if (!link) {
    Response response =
        Response::refuse(429, "too_many_links", "too many links to ports are waiting to be used");
    response.headers.set("Retry-After", std::to_string(routing::PortLinks::kLinkLifetime.count()));
    co_return response;
  }
  const std::string path = origin.empty() ? routing::port_page_path(target) + "open"
                                          : std::string(routing::kOpenPortPath);
  co_return link_response(base + path + "?link=" + *link, !origin.empty(),
                          routing::PortLinks::kLinkLifetime.count());
}

}  // namespace glovebox::api
