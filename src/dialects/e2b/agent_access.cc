#include "dialects/e2b/agent_access.h"

#include <utility>

#include "base/constant_time.h"
#include "dialects/e2b/error_form.h"
#include "routing/port_proxy.h"
#include "routing/port_routing.h"

namespace glovebox::e2b {
namespace {

using Verdict = routing::SandboxAccess::Verdict;

bool has_port_token(const http::Request& request, const std::string& expected) {
  return equal_in_constant_time(request.header("E2b-Traffic-Access-Token"), expected) ||
         equal_in_constant_time(request.header(routing::kPortTokenHeader), expected);
}

}  // namespace

bool AgentAccess::has_token(const http::Request& request) const {
  return tokens_.is_valid(request.param("id"), request.header("X-Access-Token"));
}

asio::awaitable<AgentAccess::PortAdmission> AgentAccess::admit_by_token(std::string id,
                                                                        bool has_token,
                                                                        AccessToken token) {
  PortAdmission result;
  const routing::SandboxAccess::Authorize by_token = [&](const std::string& port_token) {
    result.port_token = port_token;
    return has_token;
  };
  routing::SandboxAccess::Admission admitted = co_await access_.admit(id, by_token);
  if (admitted.verdict == Verdict::kUnauthorized && token == AccessToken::kOptional) {
    // It runs, and this route needs no token. A sandbox that does not run was refused above: a
    // request without a token never resumes one.
    const routing::SandboxAccess::Authorize without_token = [](const std::string&) { return true; };
    admitted = co_await access_.admit(id, without_token);
  }
  switch (admitted.verdict) {
    case Verdict::kAdmitted:
      result.admission.session = std::move(admitted.session);
      break;
    case Verdict::kNotRunning:
      result.admission.refusal = routing::port_refusal(502, id, "The sandbox was not found");
      break;
    case Verdict::kUnauthorized:
      result.admission.refusal =
          refusal(401, "the access token is missing or does not belong to this sandbox");
      break;
  }
  co_return result;
}

asio::awaitable<AgentAccess::Admission> AgentAccess::admit(const http::Request& request,
                                                           AccessToken token) {
  std::string id(request.param("id"));
  PortAdmission result = co_await admit_by_token(std::move(id), has_token(request), token);
  co_return std::move(result.admission);
}

asio::awaitable<AgentAccess::Admission> AgentAccess::admit_to_interpreter(
    const http::Request& request, AccessToken token) {
  const std::string id(request.param("id"));
  PortAdmission result = co_await admit_by_token(id, has_token(request), token);
  Admission admission = std::move(result.admission);
  if (admission.refusal) co_return admission;
  if (!result.port_token.empty() && !has_port_token(request, result.port_token)) {
    admission.session = nullptr;
    admission.refusal = routing::port_refusal(
        403, id, "This sandbox's ports are private: send its token in E2B-Traffic-Access-Token");
  }
  co_return admission;
}

}  // namespace glovebox::e2b
