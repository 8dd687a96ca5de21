// The table of routes: every path the server answers, who may ask, and one line of what it does.
// api/openapi.yaml says the same at length; tests/style/openapi_test.py compares the two.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/router.h"
#include "routing/app.h"
#include "routing/authentication.h"

namespace glovebox::api {

// Whose client asks: what a refusal looks like, and which pages may ask.
enum class Dialect : std::uint8_t {
  kOwn,  // {"error":{"code","message"}}, configured Origins only
  kE2b,  // {"code","message"}, any Origin
};

struct RouteRow {
  http::Method method;
  std::string_view pattern;
  routing::Access access;
  Task<http::Response> (*handler)(routing::App&, http::Request&, http::ResponseWriter&);
  std::string_view summary;
  std::size_t max_body = 64 * 1024;
  // For requests with an Upgrade header (WebSocket): see http/websocket/websocket.h. Such a row may have a
  // null handler; who comes without Upgrade is then told 426.
  asio::awaitable<void> (*upgrade)(routing::App&, http::Request&, http::RawStream&) = nullptr;
  bool streams_body = false;  // the handler reads request.body_stream; max_body does not count
  Dialect dialect = Dialect::kOwn;
};

// Errors of a handler in the dialect's own form.
http::Handler route_handler(routing::App& app, const RouteRow& row);

std::span<const RouteRow> all_routes();
std::string_view access_name(routing::Access access);

// For http::Server: the router, and who is refused before their body is read.
http::Router make_router(routing::App& app, std::size_t max_run_body);
std::optional<http::Response> admit(routing::App& app, const http::Request& request);
// One line in the log, and the figures.
void log_exchange(routing::App& app, const http::Exchange& exchange);

// `glovebox-server routes`: the table as JSON, for the test.
std::string routes_json();

}  // namespace glovebox::api
