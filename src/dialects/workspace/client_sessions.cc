#include "dialects/workspace/client_sessions.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "dialects/workspace/requests.h"

namespace glovebox::workspace {

Result<ClientSession> ClientSessions::parse(const http::Request& request) const {
  std::string id(request.param("session_id"));
  TRY(std::string agent, agent_of(id));
  TRY(routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  return ClientSession{std::move(id), std::move(agent), std::move(caller)};
}

Result<store::SessionRecord> ClientSessions::find(const ClientSession& wanted) const {
  auto record = deps_.registry.of_agent(wanted.caller.project, wanted.agent);
  if (!record) {
    return fail(Errc::kNotFound, "session \"" + printable(wanted.id) +
                                     "\" does not exist; create it with POST "
                                     "/workspace/se/session/{session_id}");
  }
  return std::move(*record);
}

Result<std::shared_ptr<node::Session>> ClientSessions::use(const ClientSession& wanted) const {
  TRY(const store::SessionRecord record, find(wanted));
  return use(wanted, record);
}

Result<std::shared_ptr<node::Session>> ClientSessions::use(
    const ClientSession& wanted, const store::SessionRecord& record) const {
  return deps_.sessions.use(wanted.caller.project, record.id.str());
}

std::chrono::milliseconds ClientSessions::default_timeout(
    const store::SessionRecord& record) const {
  const auto stored = record.metadata.find(std::string(kTimeoutKey));
  if (stored == record.metadata.end()) return settings_.timeout;
  std::int64_t ms = 0;
  const std::string& text = stored->second;
  const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), ms);
  // Clients can change metadata (PATCH /v1/sandboxes/{id}), so it is checked again.
  if (ec != std::errc{} || stop != text.data() + text.size() || ms < 1) return settings_.timeout;
  return std::min(settings_.timeout, std::chrono::milliseconds(ms));
}

}  // namespace glovebox::workspace
