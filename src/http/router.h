// The table of routes: {method, pattern, handler}. "{name}" stands for one segment of the path and
// "{name*}", at the end, for the rest of it. Literal segments win over parameters.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace glovebox::http {

inline constexpr std::size_t kDefaultBodyLimit = std::size_t{16} << 20;
inline constexpr std::size_t kRunBodyLimit = std::size_t{64} << 20;

// The request outlives the handler's coroutine. An error that is returned becomes the answer
// (http/status.cc), unless the handler had begun to stream: then the connection is cut.
using Handler = std::function<Task<Response>(Request&, ResponseWriter&)>;

// For requests with an Upgrade header. The handler owns the stream, writes the 101 itself (see
// http/server/response_head.h), and the connection is closed when it returns.
using UpgradeHandler = std::function<asio::awaitable<void>(Request&, RawStream&)>;

// Sees a request whose header is complete, before its body is read: the place to refuse a caller
// without a key. Must not wait. nullopt: the request is admitted.
using Admission = std::function<std::optional<Response>(Request&)>;

// Gives a refusal (a response with a Problem) the form that the clients of a dialect expect: of an
// admission, or of the handler, whose Error is given if it returned one.
using ErrorForm = std::function<Response(const Response& refused, const Error* error)>;

enum class Cors : std::uint8_t {
  kConfigured,  // only configured Origins
  kAny,         // "*": for dialects whose clients run in browsers; keys are never cookies
  // The server behind us has rules of its own: every Origin passes, preflights too, and answers
  // keep the headers they have.
  kForwarded,
};

struct Route {
  Method method = Method::kGet;
  std::string pattern;
  Handler handler;
  std::size_t max_body = kDefaultBodyLimit;
  Cors cors = Cors::kConfigured;
  UpgradeHandler upgrade = nullptr;
  bool streams_body = false;     // the handler reads Request::body_stream; max_body does not count
  bool admits_itself = false;    // no admission is asked
  bool accepts_cookies = false;  // the admission does; for tests that compare routes
  // Answered at once and never refused for want of room (ServerLimits::max_requests): health.
  bool is_always_served = false;
  Admission admit = nullptr;       // instead of ServerOptions::admit
  ErrorForm error_form = nullptr;  // null: {"error":{"code","message"},"request_id"}
};

// Asks the route's admission, or `otherwise` if it has none, in the form of the route's errors.
// nullopt: the request is admitted.
std::optional<Response> refuse_admission(const Route& route, const Admission& otherwise,
                                         Request& request);

class Router {
 public:
  Router() = default;
  explicit Router(std::vector<Route> routes);
  void add(Route route);  // asserts that the pattern is well formed and not there yet

  struct Match {
    const Route* route = nullptr;  // null: no route
    Params params;
    std::vector<Method> allowed;  // of the path; empty: 404, else 405
  };
  // `raw_path` is undecoded, so that "%2F" stays inside its segment. HEAD finds GET.
  Match find(Method method, std::string_view raw_path) const;

  // For the test that compares the table with api/openapi.yaml.
  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct Pattern {
    std::vector<std::string> segments;  // "v1", "{id}"
  };
  bool matches(const Pattern& pattern, const std::vector<std::string_view>& segments,
               Params* params) const;

  std::vector<Route> routes_;
  std::vector<Pattern> patterns_;  // beside routes_
};

// The value of an Allow header: "GET, HEAD, POST".
std::string allow_header(const std::vector<Method>& allowed);

}  // namespace glovebox::http
