#include "dialects/e2b/agent_access.h"

#include <utility>

#include "base/constant_time.h"
#include "dialects/e2b/error_form.h"
#include "routing/port_proxy.h"
#include "routing/port_routing.h"

namespace glovebox::e2b {
namespace {

using Rights = routing::SandboxAccess::Rights;
using Verdict = routing::SandboxAccess::Verdict;

bool has_port_token(const http::Request& request, const std::string& expected) {
  return equal_in_constant_time(request.header("E2b-Traffic-Access-Token"), expected) ||
         equal_in_constant_time(request.header(routing::kPortTokenHeader), expected);
}

std::optional<http::Response> refusal_of(Verdict verdict, const std::string& id) {
  switch (verdict) {
    case Verdict::kNotFound:
      return routing::sandbox_not_found(id);
    case Verdict::kUnauthorized:
      return refusal(401, "the access token is missing or does not belong to this sandbox");
    default:
      return std::nullopt;
  }
}

}  // namespace

bool AgentAccess::has_token(const http::Request& request) const {
  return tokens_.is_valid(request.param("id"), request.header("X-Access-Token"));
}

asio::awaitable<AgentAccess::Admission> AgentAccess::admit_by(
    std::string id, routing::SandboxAccess::Authorize rights_of) {
  routing::SandboxAccess::Admission admitted = co_await access_.admit(id, std::move(rights_of));
  Admission result;
  result.refusal = refusal_of(admitted.verdict, id);
  result.session = std::move(admitted.session);
  co_return result;
}

routing::SandboxAccess::Authorize AgentAccess::agent_rights(const http::Request& request,
                                                            AccessToken token) const {
  return [shown = has_token(request), token](const std::string& port_token) {
    if (shown) return Rights::kResume;
    if (token == AccessToken::kReplaced) return Rights::kUse;
    return token == AccessToken::kOptional && port_token.empty() ? Rights::kUse : Rights::kNone;
  };
}

routing::SandboxAccess::Authorize AgentAccess::interpreter_rights(const http::Request& request,
                                                                  AccessToken token) const {
  return [&request, shown = has_token(request), token](const std::string& port_token) {
    const bool is_private = !port_token.empty();
    if (is_private && !has_port_token(request, port_token)) return Rights::kNone;
    if (shown) return Rights::kResume;
    if (token == AccessToken::kRequired) return Rights::kNone;
    return is_private ? Rights::kResume : Rights::kUse;
  };
}

asio::awaitable<AgentAccess::Admission> AgentAccess::admit(const http::Request& request,
                                                           AccessToken token) {
  std::string id(request.param("id"));
  routing::SandboxAccess::Authorize rights_of = agent_rights(request, token);
  co_return co_await admit_by(std::move(id), std::move(rights_of));
}

std::optional<http::Response> AgentAccess::refuse(const http::Request& request,
                                                  AccessToken token) const {
  const std::string id(request.param("id"));
  return refusal_of(access_.look_up(id, agent_rights(request, token)).verdict, id);
}

asio::awaitable<AgentAccess::Admission> AgentAccess::admit_to_interpreter(
    const http::Request& request, AccessToken token) {
  std::string id(request.param("id"));
  routing::SandboxAccess::Authorize rights_of = interpreter_rights(request, token);
  co_return co_await admit_by(std::move(id), std::move(rights_of));
}

std::optional<http::Response> AgentAccess::refuse_to_interpreter(const http::Request& request,
                                                                 AccessToken token) const {
  const std::string id(request.param("id"));
  return refusal_of(access_.look_up(id, interpreter_rights(request, token)).verdict, id);
}

}  // namespace glovebox::e2b
