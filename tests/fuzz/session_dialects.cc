// The bodies, ids and file names of /workspace/se and /api/v1: untrusted, from any client with a
// key. The first byte says which.
#include <string>

#include "dialects/sessions_api/requests.h"
#include "dialects/workspace/requests.h"
#include "sessions/processes/exec_request.h"
#include "fuzz_target.h"

namespace {

using namespace glovebox;

using std::chrono::milliseconds;

constexpr milliseconds kMost{300'000};

void told(const Error& error) {
  fuzz::promise(error.code() == Errc::kInvalidArgument || error.code() == Errc::kUnsupported ||
                    error.code() == Errc::kPolicy,  // more network than the administrator allows
                "it is the caller's mistake");
  fuzz::promise(!error.message().empty(), "and is told");
}

void session_id(std::string_view text) {
  const auto agent = workspace::agent_of(text);
  if (!agent) return told(agent.error());
  fuzz::promise(agent->size() <= sessions::kMaxAgentId, "it fits where it is kept");
  fuzz::promise(agent->find('\0') == std::string::npos, "no NUL is kept");
  fuzz::promise(workspace::session_of_agent(*agent) == text, "it comes back as it was");
}

void file_name(std::string_view text) {
  const auto path = workspace::path_of(text);
  if (!path) return told(path.error());
  fuzz::promise(path->starts_with("/home/user/") && path->size() > 11, "it is below home");
  fuzz::promise((*path + "/").find("/../") == std::string::npos, "and stays there");
  fuzz::promise(path->size() <= wire::kMaxSessionPath, "it is a path");
}

void limits(const sessions::CreateRequest& request) {
  fuzz::promise(!request.profile.memory_bytes || *request.profile.memory_bytes >= 8u << 20,
                "limits are in bounds");
  fuzz::promise(!request.profile.cpu_thousandths || *request.profile.cpu_thousandths >= 10,
                "limits are in bounds");
  fuzz::promise(request.template_name.empty() || sessions::is_template_name(request.template_name),
                "a template is a name");
}

void workspace_session(std::string_view body) {
  const auto request = workspace::parse_create(body, {});
  if (!request) return told(request.error());
  limits(*request);
}

void workspace_code(std::string_view body) {
  const auto request = workspace::parse_code(body, kMost);
  if (!request) return told(request.error());
  fuzz::promise(!request->timeout || (request->timeout->count() > 0 && *request->timeout <= kMost),
                "the time is in bounds");
  fuzz::promise(request->code.find('\0') == std::string::npos, "no NUL in code");
  if (!request->shell) return;
  const auto exec = sessions::parse_exec_request(workspace::translate_script(*request, kMost));
  if (!exec) told(exec.error());
}

void workspace_command(std::string_view body) {
  const auto translated = workspace::translate_command(body, kMost, kMost);
  if (!translated) return told(translated.error());
  const auto exec = sessions::parse_exec_request(*translated);
  if (!exec) return told(exec.error());
  fuzz::promise(exec->user == "user" && !exec->background, "as user, and waited for");
  fuzz::promise(exec->timeout && *exec->timeout <= kMost, "the time is in bounds");
}

void api_session(std::string_view body) {
  const auto request = sessions_api::parse_session(body);
  if (!request) return told(request.error());
  limits(*request);
  fuzz::promise(request->metadata.contains(std::string(sessions_api::kModeKey)), "it has a mode");
}

void api_execute(std::string_view body) {
  const auto request = sessions_api::parse_execute(body);
  if (!request) return told(request.error());
  fuzz::promise(request->timeout.count() >= 1 && request->timeout.count() <= 3600,
                "the time is in bounds");
  const std::string cell = sessions_api::handler_cell(*request, {});
  const std::size_t call = cell.find("\n__glovebox_handle(");
  fuzz::promise(call != std::string::npos && cell.find('\n', call + 1) == cell.size() - 1,
                "what the caller wrote is on one line, the last");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  void (*const all[])(std::string_view) = {session_id,     file_name,         workspace_session,
                                           workspace_code, workspace_command, api_session,
                                           api_execute};
  all[data[0] % std::size(all)](rest);
  return 0;
}
