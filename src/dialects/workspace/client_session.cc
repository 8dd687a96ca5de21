#include "dialects/workspace/client_session.h"

#include <algorithm>
#include <charconv>

#include "base/utf8.h"
#include "dialects/workspace/requests.h"

namespace glovebox::workspace {

Result<ClientSession> client_session(routing::App& app, const http::Request& request) {
  std::string id(request.param("session_id"));
  TRY(std::string agent, agent_of(id));
  TRY(routing::Caller caller, routing::caller_of_one_project(app, request));
  return ClientSession{std::move(id), std::move(agent), std::move(caller)};
}

Result<store::SessionRecord> find_record(routing::App& app, const ClientSession& wanted) {
  auto record = app.keeper->of_agent(wanted.caller.project, wanted.agent);
  if (!record) {
    return fail(Errc::kNotFound, "there is no session \"" + printable(wanted.id) +
                                     "\"; make it with POST /workspace/se/session/{session_id}");
  }
  return std::move(*record);
}

void send_on(http::Request& request, const store::SessionRecord& record) {
  http::Params params;
  params.add("id", record.id.str());
  request.path_params = std::move(params);
}

std::chrono::milliseconds timeout_of(const routing::App& app, const store::SessionRecord& record) {
  const std::chrono::milliseconds most = app.settings.workspace.timeout;
  const auto said = record.metadata.find(std::string(kTimeoutKey));
  if (said == record.metadata.end()) return most;
  std::int64_t ms = 0;
  const char* end = said->second.data() + said->second.size();
  const auto [stop, ec] = std::from_chars(said->second.data(), end, ms);
  // Anybody with the key can change metadata.
  if (ec != std::errc{} || stop != end || ms < 1) return most;
  return std::min(most, std::chrono::milliseconds(ms));
}

}  // namespace glovebox::workspace
