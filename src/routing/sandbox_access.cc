#include "routing/sandbox_access.h"

#include <utility>

namespace glovebox::routing {

asio::awaitable<SandboxAccess::Admission> SandboxAccess::admit(std::string id,
                                                               Authorize is_authorized) {
  sessions::PortAccess access = sessions_.port_access(id);
  const bool authorized = is_authorized(access.token);
  if (!access.session && authorized) {
    co_await lifecycle_.wake(id);
    access = sessions_.port_access(id);
  }
  Admission admission;
  if (!access.session) co_return admission;
  if (!authorized) {
    admission.verdict = Verdict::kUnauthorized;
    co_return admission;
  }
  admission.verdict = Verdict::kAdmitted;
  admission.session = std::move(access.session);
  co_return admission;
}

}  // namespace glovebox::routing
