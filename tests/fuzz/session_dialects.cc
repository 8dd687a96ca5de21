// The bodies, ids and file names of /workspace/se and /api/v1, which any client with a key can
// send. The first byte selects the parser.
#include <string>

#include "dialects/sessions_api/requests.h"
#include "dialects/workspace/requests.h"
#include "fuzz_target.h"
#include "model/template_rules.h"
#include "sessions/processes/exec_request.h"

namespace {

using namespace glovebox;

using std::chrono::milliseconds;

constexpr milliseconds kMaxTimeout{300'000};

void check_refusal(const Error& error) {
  fuzz::promise(error.code() == Errc::kInvalidArgument || error.code() == Errc::kUnsupported ||
                    error.code() == Errc::kPolicy,  // more network than the administrator allows
                "the error is the caller's");
  fuzz::promise(!error.message().empty(), "it has a message");
}

void session_id(std::string_view text) {
  const auto agent = workspace::agent_of(text);
  if (!agent) return check_refusal(agent.error());
  fuzz::promise(agent->size() <= sessions::kMaxAgentId, "it fits an agent_id");
  fuzz::promise(agent->find('\0') == std::string::npos, "it has no NUL");
  fuzz::promise(workspace::session_of_agent(*agent) == text, "the id survives the round trip");
}

void file_name(std::string_view text) {
  const auto path = workspace::path_of(text);
  if (!path) return check_refusal(path.error());
  fuzz::promise(path->starts_with("/home/user/") && path->size() > 11, "it is below /home/user");
  fuzz::promise((*path + "/").find("/../") == std::string::npos, "it has no .. component");
  fuzz::promise(path->size() <= wire::kMaxSessionPath, "it fits a path");
}

void limits(const sessions::CreateRequest& request) {
  fuzz::promise(!request.profile.memory_bytes || *request.profile.memory_bytes >= 8u << 20,
                "limits are in bounds");
  fuzz::promise(!request.profile.cpu_thousandths || *request.profile.cpu_thousandths >= 10,
                "limits are in bounds");
  fuzz::promise(request.template_name.empty() || is_template_name(request.template_name),
                "the template has a valid name");
}

void workspace_session(std::string_view body) {
  const auto request = workspace::parse_create(body, {});
  if (!request) return check_refusal(request.error());
  limits(*request);
}

void workspace_code(std::string_view body) {
  const auto request = workspace::parse_code(body, kMaxTimeout);
  if (!request) return check_refusal(request.error());
  fuzz::promise(
      !request->timeout || (request->timeout->count() > 0 && *request->timeout <= kMaxTimeout),
      "the timeout is in bounds");
  fuzz::promise(request->code.find('\0') == std::string::npos, "the code has no NUL");
  if (!request->shell) return;
  const auto exec =
      sessions::parse_exec_request(workspace::translate_script(*request, kMaxTimeout));
  if (!exec) check_refusal(exec.error());
}

void workspace_command(std::string_view body) {
  const auto translated = workspace::translate_command(body, kMaxTimeout, kMaxTimeout);
  if (!translated) return check_refusal(translated.error());
  const auto exec = sessions::parse_exec_request(*translated);
  if (!exec) return check_refusal(exec.error());
  fuzz::promise(exec->user == "user" && !exec->background, "it runs as user, in the foreground");
  fuzz::promise(exec->timeout && *exec->timeout <= kMaxTimeout, "the timeout is in bounds");
}

void api_session(std::string_view body) {
  const auto request = sessions_api::parse_session(body);
  if (!request) return check_refusal(request.error());
  limits(*request);
  fuzz::promise(request->metadata.contains(std::string(sessions_api::kModeKey)), "it has a mode");
}

void api_execute(std::string_view body) {
  const auto request = sessions_api::parse_execute(body);
  if (!request) return check_refusal(request.error());
  fuzz::promise(request->timeout.count() >= 1 && request->timeout.count() <= 3600,
                "the timeout is in bounds");
  const std::string cell = sessions_api::handler_cell(*request, {});
  const std::size_t call = cell.find("\n__glovebox_handle(");
  fuzz::promise(call != std::string::npos && cell.find('\n', call + 1) == cell.size() - 1,
                "the caller's text is on the last line alone");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  void (*const parsers[])(std::string_view) = {session_id,     file_name,         workspace_session,
                                               workspace_code, workspace_command, api_session,
                                               api_execute};
  parsers[data[0] % std::size(parsers)](rest);
  return 0;
}
