// Tables of routes. A class of handlers lists its rows (method, path, required access, handler,
// summary). A RouteTable binds the rows to an object of that class. The rows can also be read
// without an object, for the documentation.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "http/message.h"
#include "http/router.h"
#include "routing/authenticator.h"

namespace glovebox::routing {

// The maximum size of a request's body.
class BodyLimit {
 public:
  constexpr BodyLimit(std::size_t bytes) : bytes_(bytes) {}  // NOLINT(*-explicit-*): a number
  // The administrator's limit for requests that run code (server.max_body).
  static constexpr BodyLimit configured() { return BodyLimit(kConfigured); }
  constexpr std::size_t bytes(std::size_t configured) const {
    return bytes_ == kConfigured ? configured : bytes_;
  }

 private:
  static constexpr std::size_t kConfigured = static_cast<std::size_t>(-1);
  std::size_t bytes_;
};
inline constexpr BodyLimit kSmallBody = 64 * 1024;
// Enough for metadata and environment in their longest JSON form.
inline constexpr BodyLimit kSandboxBody = 1024 * 1024;

// The documentation of a route; see api/openapi.yaml.
struct RouteInfo {
  http::Method method;
  std::string_view pattern;
  Access access;
  std::string_view summary;
};

template <class Routes>
struct RouteRow {
  http::Method method;
  std::string_view pattern;
  Access access;
  // Null for rows that are only for WebSockets: a request without Upgrade gets status 426.
  Task<http::Response> (Routes::*handler)(http::Request&, http::ResponseWriter&);
  std::string_view summary;
  BodyLimit max_body = kSmallBody;
  // For requests with an Upgrade header: see http/websocket/websocket.h.
  asio::awaitable<void> (Routes::*upgrade)(http::Request&, http::RawStream&) = nullptr;
  bool streams_body = false;      // the handler reads request.body_stream; max_body does not apply
  bool is_always_served = false;  // even when too many requests are in progress
};

// Settings that all rows of one API share.
struct RouteStyle {
  http::Cors cors = http::Cors::kConfigured;
  // Not for what any Origin may call, and not for what a guest answers.
  Cookies cookies = Cookies::kIgnored;
  http::ErrorForm error_form = nullptr;  // null: {"error":{"code","message"}}
  // Refuses a request before its body is read. Null: by the row's Access, with the Authenticator.
  http::Admission admit = nullptr;
};

class RouteTable {
 public:
  // `authenticator` outlives the routes. `max_configured_body` is for BodyLimit::configured().
  RouteTable(const Authenticator& authenticator, std::size_t max_configured_body)
      : authenticator_(authenticator), max_configured_body_(max_configured_body) {}

  // `routes` outlives the table and what was made of it.
  template <class Routes>
  void add(Routes& routes, std::span<const RouteRow<Routes>> rows, const RouteStyle& style = {}) {
    for (const RouteRow<Routes>& row : rows) {
      http::Route route;
      route.streams_body = row.streams_body;
      route.is_always_served = row.is_always_served;
      route.handler = ask_for_upgrade;
      if (row.handler != nullptr) {
        route.handler = [&routes, call = row.handler](http::Request& request,
                                                      http::ResponseWriter& writer) {
          return (routes.*call)(request, writer);
        };
      }
      if (row.upgrade != nullptr) {
        route.upgrade = [&routes, call = row.upgrade](http::Request& request,
                                                      http::RawStream& stream) {
          return (routes.*call)(request, stream);
        };
      }
      add_route({row.method, row.pattern, row.access, row.summary}, row.max_body, std::move(route),
                style);
    }
  }

  http::Router router() && { return http::Router(std::move(routes_)); }

 private:
  static Task<http::Response> ask_for_upgrade(http::Request& request, http::ResponseWriter& writer);
  void add_route(const RouteInfo& info, BodyLimit max_body, http::Route route,
                 const RouteStyle& style);

  const Authenticator& authenticator_;
  const std::size_t max_configured_body_;
  std::vector<http::Route> routes_;
};

// The rows' documentation, without an object to handle them.
template <class Routes>
void append_info(std::vector<RouteInfo>& all, std::span<const RouteRow<Routes>> rows) {
  for (const RouteRow<Routes>& row : rows) {
    all.push_back({row.method, row.pattern, row.access, row.summary});
  }
}

}  // namespace glovebox::routing
