#include "dialects/mcp/message_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "base/utf8.h"
#include "dialects/mcp/active_call.h"
#include "dialects/mcp/call_stream.h"
#include "dialects/mcp/tool_list.h"
#include "routing/large_requests.h"
#include "wire/json/object_reader.h"
#include "wire/network/net_policy_json.h"
#include "wire/packages/dependencies_json.h"
#include "wire/runs/profile_request.h"

namespace glovebox::mcp {

using http::Request;
using http::Response;
using http::ResponseWriter;

namespace {

namespace json = boost::json;

// Room for a file of 16 MB as base64, and the message around it.
constexpr std::size_t kMaxMessage = std::size_t{24} << 20;

// Newest first. The oldest revision had no streamable HTTP, but the same messages.
constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr std::size_t kMaxClientName = 100;
// In _meta of initialize: `glovebox mcp` replaces a conversation that was lost with its sandbox.
constexpr std::string_view kResumes = "glovebox/resumes";
// Also there: packages and the network policy of the conversation's sandboxes.
constexpr std::string_view kSandbox = "glovebox/sandbox";

bool is_version(std::string_view text) {
  for (const std::string_view known : kVersions) {
    if (text == known) return true;
  }
  return false;
}

Response refuse_message(int status, int code, std::string message, json::value id = nullptr) {
  RpcError error{code, std::move(message), std::move(id)};
  return json_answer(error_text(error), status);
}

std::string text_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

const json::value* meta_field(const json::object& params, std::string_view name) {
  const json::value* meta = params.if_contains("_meta");
  return meta != nullptr && meta->is_object() ? meta->get_object().if_contains(name) : nullptr;
}

bool resumes_a_lost_one(const json::object& params) {
  const json::value* flag = meta_field(params, kResumes);
  return flag != nullptr && *flag == true;
}

// {"dependencies": ..., "net": ..., "image": ...}, each as in a profile of /v1.
Result<SandboxOptions> read_sandbox_options(const json::object& params) {
  SandboxOptions options;
  const json::value* given = meta_field(params, kSandbox);
  if (given == nullptr) return options;
  TRY(wire::ObjectReader fields,
      wire::ObjectReader::open(*given, "_meta." + std::string(kSandbox)));
  if (const json::value* packages = fields.take("dependencies")) {
    TRY(options.dependencies, wire::read_dependencies(*packages, fields.path_of("dependencies")));
  }
  if (const json::value* net = fields.take("net")) {
    TRY(options.net, wire::read_net_policy(*net, fields.path_of("net")));
  }
  TRY(options.image, wire::read_image(fields));
  TRY_OK(fields.finish());
  return options;
}

// The refusal, or nothing: the headers are good.
std::optional<Response> check_headers(const Request& request) {
  const std::string_view type = request.header("Content-Type");
  const std::string_view essence = type.substr(0, type.find_first_of("; \t"));
  if (essence != "application/json") {
    return refuse_message(415, kServerError,
                          "Unsupported Media Type: send Content-Type: application/json");
  }
  const AnswerForms forms = answer_forms(request);
  if (!forms.json && !forms.events) {
    return refuse_message(406, kServerError,
                          "Not Acceptable: send Accept: application/json, text/event-stream");
  }
  return std::nullopt;
}

std::optional<Response> check_version(const Request& request) {
  const std::string* version = request.headers.find("MCP-Protocol-Version");
  if (version == nullptr || is_version(*version)) return std::nullopt;
  std::string known;
  for (const std::string_view one : kVersions) (known += known.empty() ? "" : ", ") += one;
  return refuse_message(400, kServerError,
                        "Bad Request: unsupported MCP-Protocol-Version; supported are " + known);
}

// An answer that is ready, in the form that the client accepts.
Response answer_now(const Request& request, const std::string& message) {
  if (answer_forms(request).json) return json_answer(message);
  Response response;
  response.headers.set("Content-Type", "text/event-stream");
  response.headers.set("Cache-Control", "no-store");
  response.body = "event: message\ndata: " + message + "\n\n";
  return response;
}

void take_notification(Conversation& conversation, const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const json::value* id = message.params.if_contains("requestId");
  if (id != nullptr && is_token(*id)) conversation.cancel_call(json::serialize(*id));
}

struct CallParams {
  const Toolbox::Tool* tool = nullptr;
  json::value arguments = json::object();
  std::optional<json::value> token{};
};

tl::expected<CallParams, RpcError> read_call(Message& message) {
  const auto bad = [&message](std::string why) {
    RpcError error{kInvalidParams, "Invalid params: " + std::move(why), message.id};
    return tl::unexpected<RpcError>(std::move(error));
  };
  CallParams params;
  const json::value* name = message.params.if_contains("name");
  if (name == nullptr || !name->is_string()) return bad("name is missing");
  params.tool = Toolbox::find(name->get_string());
  if (params.tool == nullptr) {
    return bad("unknown tool: " + printable(std::string_view(name->get_string())));
  }
  json::value* arguments = message.params.if_contains("arguments");
  if (arguments != nullptr && !arguments->is_object()) return bad("arguments must be an object");
  if (arguments != nullptr) params.arguments = std::move(*arguments);
  const json::value* meta = message.params.if_contains("_meta");
  if (meta == nullptr) return params;
  if (!meta->is_object()) return bad("_meta must be an object");
  const json::value* token = meta->get_object().if_contains("progressToken");
  if (token == nullptr) return params;
  if (!is_token(*token)) return bad("progressToken must be a string or a whole number");
  params.token = *token;
  return params;
}

}  // namespace

std::span<const routing::RouteRow<MessageRoutes>> MessageRoutes::rows() {
  using http::Method;
  using routing::Access;
  static constexpr routing::RouteRow<MessageRoutes> kRows[] = {
      {Method::kPost, "/mcp", Access::kKey, &MessageRoutes::post_message,
       "Send a Model Context Protocol message", kMaxMessage},
      {Method::kGet, "/mcp", Access::kKey, &MessageRoutes::open_stream,
       "Open a stream of server messages (not supported)"},
      {Method::kDelete, "/mcp", Access::kKey, &MessageRoutes::end_conversation,
       "End a conversation and its sandbox"},
  };
  return kRows;
}

Task<Response> MessageRoutes::post_message(Request& request, ResponseWriter& writer) {
  CO_TRY(routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  if (auto refused = check_headers(request)) co_return std::move(*refused);
  auto parsed = co_await routing::parse_body(deps_.worker, request, parse_message);
  request.body = std::string();  // it can be large
  if (!parsed) co_return json_answer(error_text(parsed.error()), 400);
  Message message = std::move(*parsed);
  const bool is_request = message.kind == MessageKind::kRequest;
  if (is_request && message.method == "initialize") {
    co_return co_await initialize(request, std::move(caller), std::move(message));
  }
  Found found = find_conversation(request, caller.project);
  if (found.refusal) co_return std::move(*found.refusal);
  if (!is_request) {
    take_notification(*found.conversation, message);
    co_return Response::empty(202);
  }
  co_return co_await answer_request(request, writer, std::move(caller),
                                    std::move(found.conversation), std::move(message));
}

Task<Response> MessageRoutes::open_stream(Request&, ResponseWriter&) {
  Response refused = refuse_message(405, kServerError,
                                    "Method Not Allowed: this server does not initiate messages");
  refused.headers.set("Allow", "POST, DELETE");
  co_return refused;
}

Task<Response> MessageRoutes::end_conversation(Request& request, ResponseWriter&) {
  CO_TRY(const routing::Caller caller, deps_.authenticator.caller_of_one_project(request));
  Found found = find_conversation(request, caller.project);
  if (found.refusal) co_return std::move(*found.refusal);
  const auto conversation = found.conversation;
  conversation->has_ended = true;
  conversation->cancel_all();
  auto ended = co_await deps_.sandboxes.end(conversation);
  if (!ended) {
    conversation->has_ended = false;  // the client can try again
    co_return fail(std::move(ended.error()));
  }
  deps_.conversations.end(*conversation);
  co_return Response::empty();
}

MessageRoutes::Found MessageRoutes::find_conversation(const Request& request,
                                                      const std::string& project) {
  Found found;
  const std::string* id = request.headers.find(kSessionHeader);
  if (auto refused = check_version(request)) {
    found.refusal = std::move(refused);
  } else if (id == nullptr) {
    found.refusal = refuse_message(400, kServerError,
                                   "Bad Request: Mcp-Session-Id is missing; begin with initialize");
  } else {
    found.conversation = deps_.conversations.find(project, *id);
    if (found.conversation == nullptr) {
      found.refusal = refuse_message(
          404, -32001,
          "Session not found: it is unknown or has ended; begin again with initialize");
    }
  }
  return found;
}

Task<Response> MessageRoutes::initialize(Request& request, routing::Caller caller,
                                         Message message) {
  if (request.headers.find(kSessionHeader) != nullptr) {
    co_return refuse_message(400, kInvalidRequest,
                             "Invalid Request: this conversation has begun already; send "
                             "initialize without Mcp-Session-Id",
                             message.id);
  }
  const std::string asked = text_in(message.params, "protocolVersion");
  if (asked.empty()) {
    const RpcError error{kInvalidParams, "Invalid params: protocolVersion is missing", message.id};
    co_return answer_now(request, error_text(error));
  }
  auto options = read_sandbox_options(message.params);
  if (!options) {
    const RpcError error{kInvalidParams, "Invalid params: " + options.error().message(),
                         message.id};
    co_return answer_now(request, error_text(error));
  }
  co_await deps_.watcher.wait_until_known();
  auto begun = deps_.conversations.begin(caller.project);
  if (!begun) {
    Response refused = refuse_message(429, kServerError, begun.error().message(), message.id);
    refused.headers.set("Retry-After", "60");
    co_return refused;
  }
  Conversation& conversation = **begun;
  if (const json::value* info = message.params.if_contains("clientInfo");
      info != nullptr && info->is_object()) {
    conversation.client = printable(text_in(info->get_object(), "name").substr(0, kMaxClientName));
  }
  conversation.options = std::move(*options);
  if (resumes_a_lost_one(message.params)) {
    conversation.lost = "the server no longer knows it";
  }
  const std::string version(is_version(asked) ? asked : std::string(kVersions[0]));
  json::object result{
      {"protocolVersion", version},
      {"capabilities", {{"tools", {{"listChanged", false}}}}},
      {"serverInfo", {{"name", "glovebox"}, {"title", "Glovebox"}, {"version", server_version_}}},
      {"instructions", instructions(settings_, deps_.sandboxes.template_name(conversation.options),
                                    conversation.options)}};
  Response response = answer_now(request, result_text(message.id, std::move(result)));
  response.headers.set(kSessionHeader, conversation.id);
  co_return response;
}

Task<Response> MessageRoutes::answer_request(Request& request, ResponseWriter& writer,
                                             routing::Caller caller,
                                             std::shared_ptr<Conversation> conversation,
                                             Message message) {
  if (message.method == "tools/call") {
    co_return co_await call_tool(request, writer, std::move(caller), std::move(conversation),
                                 std::move(message));
  }
  if (message.method == "ping") {
    co_return answer_now(request, result_text(message.id, json::object()));
  }
  if (message.method == "tools/list") {
    if (message.params.contains("cursor")) {
      const RpcError error{kInvalidParams,
                           "Invalid params: unknown cursor; all tools are on one page", message.id};
      co_return answer_now(request, error_text(error));
    }
    json::object result{{"tools", list_tools(settings_)}};
    co_return answer_now(request, result_text(message.id, std::move(result)));
  }
  const RpcError error{kMethodNotFound, "Method not found: " + printable(message.method),
                       message.id};
  co_return answer_now(request, error_text(error));
}

Task<Response> MessageRoutes::call_tool(Request& request, ResponseWriter& writer,
                                        routing::Caller caller,
                                        std::shared_ptr<Conversation> conversation,
                                        Message message) {
  const json::value id = message.id;
  auto params = read_call(message);
  if (!params) co_return answer_now(request, error_text(params.error()));
  const ActiveCall active(deps_.io, settings_, conversation, json::serialize(id));
  if (active.flag() == nullptr) {
    const RpcError error{kServerError,
                         "Too many calls at once in this conversation (at most " +
                             std::to_string(Conversation::kMaxCalls) +
                             "), or another one with this id",
                         id};
    co_return answer_now(request, error_text(error));
  }
  CallStream::Options options;
  options.forms = answer_forms(request);
  options.token = std::move(params->token);
  options.timeout = settings_.timeout;
  CallStream stream(deps_.io, writer, std::move(options));
  stream.begin();
  ToolCall call{.request = request,
                .caller = std::move(caller),
                .conversation = conversation,
                .cancel = active.flag(),
                .stream = stream,
                .arguments = std::move(params->arguments)};
  json::object result = co_await deps_.toolbox.run(*params->tool, call);
  if (active.is_cancelled()) {
    const RpcError error{kServerError, "the call was cancelled", id};
    std::string otherwise = error_text(error);
    co_return co_await stream.drop(std::move(otherwise));
  }
  if (active.is_late()) {
    json::array content;
    content.push_back(text_block(
        "Error: deadline exceeded: the call and those it waited for took too long together"));
    result = json::object{{"content", std::move(content)}, {"isError", true}};
  }
  std::string text = result_text(id, std::move(result));
  co_return co_await stream.finish(deps_.responses, deps_.memory_budget, request.owner,
                                   std::move(text));
}

}  // namespace glovebox::mcp
