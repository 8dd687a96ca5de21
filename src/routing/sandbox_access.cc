#include "routing/sandbox_access.h"

#include <utility>

#include "routing/port_proxy.h"

namespace glovebox::routing {

asio::awaitable<SandboxAccess::Admission> SandboxAccess::admit(std::string id,
                                                               Authorize rights_of) {
  Admission admission = look_up(id, rights_of);
  if (admission.verdict != Verdict::kMayResume) co_return admission;
  co_await lifecycle_.wake(id);
  admission = look_up(id, rights_of);
  if (admission.verdict == Verdict::kMayResume) admission.verdict = Verdict::kNotFound;
  co_return admission;
}

SandboxAccess::Admission SandboxAccess::look_up(std::string_view id,
                                                const Authorize& rights_of) const {
  sessions::PortAccess access = sessions_.port_access(id);
  const Rights rights = rights_of(access.token);
  Admission admission;
  if (!access.session) {
    if (rights == Rights::kResume) admission.verdict = Verdict::kMayResume;
    return admission;
  }
  if (rights == Rights::kNone) {
    // Public ports tell every client that the sandbox runs; private ones must not.
    if (access.token.empty()) admission.verdict = Verdict::kUnauthorized;
    return admission;
  }
  admission.verdict = Verdict::kAdmitted;
  admission.session = std::move(access.session);
  admission.host_mask = std::move(access.host_mask);
  return admission;
}

http::Response sandbox_not_found(const std::string& id) {
  return port_refusal(
      502, id,
      "The sandbox was not found, or its ports are private and the request does not show their "
      "token");
}

}  // namespace glovebox::routing
