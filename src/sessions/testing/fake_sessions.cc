#include "sessions/testing/fake_sessions.h"

namespace glovebox::sessions {

void FakeSessions::add(Known one) {
  const std::string id = one.session->id().str();
  known.insert_or_assign(id, std::move(one));
}

Result<std::shared_ptr<node::Session>> FakeSessions::use(const std::string& project,
                                                         std::string_view id) {
  const auto found = known.find(id);
  if (found == known.end() || (project != "*" && found->second.project != project)) {
    return fail(Errc::kNotFound, "there is no such sandbox");
  }
  if (found->second.state != "running") {
    return fail(Errc::kConflict, "the sandbox is " + found->second.state);
  }
  return found->second.session;
}

std::vector<std::string> FakeSessions::environment(const SandboxId& id) const {
  const auto found = known.find(id.str());
  return found == known.end() ? std::vector<std::string>{} : found->second.env;
}

void FakeSessions::note(const SandboxId&, std::string_view kind, std::string message,
                        std::uint64_t) {
  notes.push_back(std::string(kind) + ": " + message);
}

PortAccess FakeSessions::port_access(std::string_view id) {
  const auto found = known.find(id);
  if (found == known.end()) return {};
  PortAccess access{
      .session = nullptr, .token = found->second.token, .project = found->second.project};
  if (found->second.state == "running") access.session = found->second.session;
  return access;
}

}  // namespace glovebox::sessions
