#include "routing/port_routing.h"

#include <optional>
#include <utility>

#include "base/constant_time.h"
#include "base/wall_clock.h"
#include "http/websocket/websocket.h"

namespace glovebox::routing {
namespace {

using http::Forwarded;
using http::Request;
using http::Response;

Response refuse_forwarded(const PortTarget& target, const Forwarded& forwarded) {
  switch (forwarded.how) {
    case Forwarded::How::kRefused:
      return port_refusal(502, target.id, "The sandbox is running but port is not open",
                          target.port);
    case Forwarded::How::kSilent:
      return port_refusal(504, target.id, "The sandbox did not answer in time", target.port);
    default:
      return port_refusal(502, target.id, "The sandbox's answer is not HTTP", target.port);
  }
}

PortTarget routed_target(const Request& request) {
  return {.id = std::string(request.param("id")),
          .port = parse_port(request.param("port")).value_or(0)};
}

}  // namespace

// The session to connect to, or a refusal.
struct PortRouting::Admitted {
  std::shared_ptr<node::Session> session;
  std::string host_mask;
  std::optional<Response> refusal;
};

PortRouting::PortRouting(SandboxAccess& access, const PortProxy& proxy, PortLinks& links,
                         std::vector<const PortDialect*> dialects)
    : access_(access), proxy_(proxy), links_(links), dialects_(std::move(dialects)) {
  route_.pattern = "(port)";
  route_.cors = http::Cors::kForwarded;
  route_.streams_body = true;
  route_.admits_itself = true;  // admit() checks the sandbox's own token
  route_.handler = [this](Request& request, http::ResponseWriter& writer) {
    return forward(request, writer);
  };
  route_.upgrade = [this](Request& request, http::RawStream& stream) {
    return upgrade(request, stream);
  };
}

const http::Route* PortRouting::find(Request& request) const {
  std::optional<PortTarget> target = port_target_of(request);
  for (const PortDialect* dialect : dialects_) {
    if (!target) target = dialect->target_of(request);
  }
  if (!target) {
    for (const PortDialect* dialect : dialects_) {
      if (const http::Route* route = dialect->find_untargeted(request)) return route;
    }
    return nullptr;
  }
  request.path_params.add("id", target->id);
  request.path_params.add("port", std::to_string(target->port));
  for (const PortDialect* dialect : dialects_) {
    if (const http::Route* route = dialect->find(request, *target)) return route;
  }
  return &route_;
}

asio::awaitable<PortRouting::Admitted> PortRouting::admit(const Request& request,
                                                          PortTarget target) {
  Admitted admitted;
  if (target.port == 0) {
    // Before anything is looked up: a port that cannot be served resumes no sandbox.
    admitted.refusal = port_refusal(502, target.id, "The port must be a number from 1 to 65535");
    co_return admitted;
  }
  SandboxAccess::Authorize rights_of = [this, &request, &target](const std::string& token) {
    return shows_port_token(request, target, token) ? SandboxAccess::Rights::kResume
                                                    : SandboxAccess::Rights::kNone;
  };
  std::string id = target.id;
  SandboxAccess::Admission admission = co_await access_.admit(std::move(id), std::move(rights_of));
  if (admission.verdict == SandboxAccess::Verdict::kAdmitted) {
    admitted.session = std::move(admission.session);
    admitted.host_mask = std::move(admission.host_mask);
  } else {
    admitted.refusal = sandbox_not_found(target.id);
  }
  co_return admitted;
}

bool PortRouting::shows_port_token(const Request& request, const PortTarget& target,
                                   const std::string& token) const {
  if (token.empty()) return true;
  // A cookie belongs to the port's own host name.
  if (port_target_of(request) && links_.shows_cookie(request, target, token, wall_clock_ms())) {
    return true;
  }
  if (equal_in_constant_time(request.header(kPortTokenHeader), token)) return true;
  for (const PortDialect* dialect : dialects_) {
    if (equal_in_constant_time(dialect->port_token_of(request), token)) return true;
  }
  return false;
}

Response PortRouting::open(const Request& request, const PortTarget& target) {
  const std::string link(request.query.get("link"));
  const std::string token = access_.port_token_of(target.id);
  if (!links_.take(link, target, std::chrono::steady_clock::now()) || token.empty()) {
    return sandbox_not_found(target.id);
  }
  Response response = Response::empty(303);
  response.headers.add("Location", "/");
  response.headers.add("Set-Cookie", links_.set_cookie(request, target, token, wall_clock_ms()));
  response.headers.add("Cache-Control", "no-store");
  response.headers.add("Referrer-Policy", "no-referrer");
  return response;
}

Task<Response> PortRouting::forward(Request& request, http::ResponseWriter& writer) {
  const PortTarget target = routed_target(request);
  if (request.path == kOpenPortPath && request.method == http::Method::kGet &&
      port_target_of(request)) {
    co_return open(request, target);
  }
  Admitted admitted = co_await admit(request, target);
  if (admitted.refusal) co_return std::move(*admitted.refusal);
  Result<UniqueFd> socket = co_await admitted.session->connect_port(target.port);
  Forwarded forwarded{.how = Forwarded::How::kRefused};
  if (socket) {
    http::ProxyPlan plan = proxy_.plan(request, target.port, RoutedBy::kHost, admitted.host_mask);
    forwarded = co_await http::forward(request, writer, std::move(*socket), std::move(plan));
  }
  if (forwarded.how == Forwarded::How::kAnswered) co_return Response::streamed();
  if (forwarded.how == Forwarded::How::kCut || forwarded.how == Forwarded::How::kClient) {
    co_return fail(std::move(forwarded.error));
  }
  co_return refuse_forwarded(target, forwarded);
}

asio::awaitable<void> PortRouting::upgrade(Request& request, http::RawStream& stream) {
  const PortTarget target = routed_target(request);
  Admitted admitted = co_await admit(request, target);
  if (!admitted.refusal) {
    Result<UniqueFd> socket = co_await admitted.session->connect_port(target.port);
    Forwarded forwarded{.how = Forwarded::How::kRefused};
    if (socket) {
      http::ProxyPlan plan = proxy_.plan(request, target.port, RoutedBy::kHost, admitted.host_mask);
      forwarded =
          co_await http::forward_upgrade(request, stream, std::move(*socket), std::move(plan));
    }
    if (forwarded.how == Forwarded::How::kAnswered) co_return;
    admitted.refusal = refuse_forwarded(target, forwarded);
  }
  co_await http::refuse_upgrade(request, stream, std::move(*admitted.refusal));
}

}  // namespace glovebox::routing
