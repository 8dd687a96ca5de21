// POST, GET and DELETE /mcp: streamable HTTP, one message to a request. What is wrong with the
// request itself has a status of its own; what is wrong with a method is a good answer that holds
// an error, as JSON-RPC has it.
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>
#include <utility>

#include "control/dialects/mcp/call_stream.h"
#include "control/dialects/mcp/conversation.h"
#include "control/dialects/mcp/handlers.h"
#include "control/dialects/mcp/json_rpc.h"
#include "control/dialects/mcp/sandbox.h"
#include "control/dialects/mcp/tools.h"
#include "control/session_creation.h"
#include "control/template_watch.h"
#include "wire/utf8.h"

namespace glovebox::control::mcp {
namespace {

namespace json = boost::json;

// Newest first. In the first one there was no streamable HTTP; what is said is the same.
constexpr std::string_view kVersions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kSessionHeader = "Mcp-Session-Id";
constexpr std::size_t kMaxClientName = 100;
// In _meta of initialize: `glovebox mcp` begins anew a conversation that was lost with its sandbox.
constexpr std::string_view kResumes = "glovebox/resumes";

bool is_version(std::string_view word) {
  for (const std::string_view known : kVersions) {
    if (word == known) return true;
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

bool resumes_a_lost_one(const json::object& params) {
  const json::value* meta = params.if_contains("_meta");
  const json::value* said =
      meta != nullptr && meta->is_object() ? meta->get_object().if_contains(kResumes) : nullptr;
  return said != nullptr && *said == true;
}

// A refusal of what the headers say, before anything is looked at.
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
                        "Bad Request: MCP-Protocol-Version is none that is known here: " + known);
}

struct Found {
  std::shared_ptr<Conversation> conversation;  // null: see refusal
  std::optional<Response> refusal{};
};

Found find_conversation(App& app, const Request& request, const std::string& project) {
  Found found;
  const std::string* id = request.headers.find(kSessionHeader);
  if (auto refused = check_version(request)) {
    found.refusal = std::move(refused);
  } else if (id == nullptr) {
    found.refusal = refuse_message(400, kServerError,
                                   "Bad Request: Mcp-Session-Id is missing; begin with initialize");
  } else {
    found.conversation = Conversations::of(app).find(project, *id);
    if (found.conversation == nullptr) {
      found.refusal =
          refuse_message(404, -32001,
                         "Session not found: it has ended or was never begun; begin anew with "
                         "initialize");
    }
  }
  return found;
}

// An answer that is at once there, in the form that the client takes.
Response answer_now(const Request& request, const std::string& message) {
  if (answer_forms(request).json) return json_answer(message);
  Response response;
  response.headers.set("Content-Type", "text/event-stream");
  response.headers.set("Cache-Control", "no-store");
  response.body = "event: message\ndata: " + message + "\n\n";
  return response;
}

Task<Response> initialize(App& app, Request& request, const Caller& caller, Message message) {
  if (request.headers.find(kSessionHeader) != nullptr) {
    co_return refuse_message(
        400, kInvalidRequest,
        "Invalid Request: this conversation has begun; initialize comes without "
        "Mcp-Session-Id",
        message.id);
  }
  const std::string asked = text_in(message.params, "protocolVersion");
  if (asked.empty()) {
    const RpcError error{kInvalidParams, "Invalid params: protocolVersion is missing", message.id};
    co_return answer_now(request, error_text(error));
  }
  co_await wait_for_templates(app);
  auto begun = Conversations::of(app).begin(caller.project);
  if (!begun) {
    Response refused = refuse_message(429, kServerError, begun.error().message(), message.id);
    refused.headers.set("Retry-After", "60");
    co_return refused;
  }
  Conversation& conversation = **begun;
  if (const json::value* info = message.params.if_contains("clientInfo");
      info != nullptr && info->is_object()) {
    conversation.client =
        wire::printable(text_in(info->get_object(), "name").substr(0, kMaxClientName));
  }
  if (resumes_a_lost_one(message.params)) {
    conversation.lost = "the server has forgotten it, or another one has taken its place";
  }
  const std::string version(is_version(asked) ? asked : std::string(kVersions[0]));
  json::object result{
      {"protocolVersion", version},
      {"capabilities", {{"tools", {{"listChanged", false}}}}},
      {"serverInfo",
       {{"name", "glovebox"}, {"title", "Glovebox"}, {"version", app.settings.version}}},
      {"instructions", instructions(app)}};
  Response response = answer_now(request, result_text(message.id, std::move(result)));
  response.headers.set(kSessionHeader, conversation.id);
  co_return response;
}

void take_notification(Conversation& conversation, const Message& message) {
  if (message.method != "notifications/cancelled") return;
  const json::value* id = message.params.if_contains("requestId");
  if (id != nullptr && is_token(*id)) conversation.cancel_call(json::serialize(*id));
}

// While a call is answered: it can be found, and it ends.
class CallPlace {
 public:
  CallPlace(App& app, std::shared_ptr<Conversation> conversation, std::string id)
      : conversation_(std::move(conversation)),
        id_(std::move(id)),
        flag_(conversation_->begin_call(id_)),
        timer_(app.io) {
    if (flag_ == nullptr) return;
    timer_.expires_after(longest_call(app.settings.mcp));
    timer_.async_wait([flag = flag_, late = late_](const boost::system::error_code& error) {
      if (error || flag->cancelled()) return;
      *late = true;
      flag->cancel();
    });
  }
  ~CallPlace() {
    if (flag_ == nullptr) return;
    timer_.cancel();
    conversation_->end_call(id_);
    conversation_->used = Conversation::Clock::now();
  }
  CallPlace(const CallPlace&) = delete;
  CallPlace& operator=(const CallPlace&) = delete;

  const std::shared_ptr<node::CancelFlag>& flag() const { return flag_; }
  bool is_late() const { return *late_; }
  bool is_cancelled() const { return flag_->cancelled() && !*late_; }

 private:
  std::shared_ptr<Conversation> conversation_;
  std::string id_;
  std::shared_ptr<node::CancelFlag> flag_;
  std::shared_ptr<bool> late_ = std::make_shared<bool>(false);
  asio::steady_timer timer_;
};

struct CallWish {
  const Tool* tool = nullptr;
  json::value arguments = json::object();
  std::optional<json::value> token{};
};

tl::expected<CallWish, RpcError> read_call(Message& message) {
  const auto bad = [&message](std::string why) {
    RpcError error{kInvalidParams, "Invalid params: " + std::move(why), message.id};
    return tl::unexpected<RpcError>(std::move(error));
  };
  CallWish wish;
  const json::value* name = message.params.if_contains("name");
  if (name == nullptr || !name->is_string()) return bad("name is missing");
  wish.tool = find_tool(name->get_string());
  if (wish.tool == nullptr) {
    return bad("unknown tool: " + wire::printable(std::string_view(name->get_string())));
  }
  json::value* arguments = message.params.if_contains("arguments");
  if (arguments != nullptr && !arguments->is_object()) return bad("arguments must be an object");
  if (arguments != nullptr) wish.arguments = std::move(*arguments);
  const json::value* meta = message.params.if_contains("_meta");
  if (meta == nullptr) return wish;
  if (!meta->is_object()) return bad("_meta must be an object");
  const json::value* token = meta->get_object().if_contains("progressToken");
  if (token == nullptr) return wish;
  if (!is_token(*token)) return bad("progressToken must be a string or a whole number");
  wish.token = *token;
  return wish;
}

Task<Response> call_tool(App& app, Request& request, ResponseWriter& writer, Caller caller,
                         std::shared_ptr<Conversation> conversation, Message message) {
  const json::value id = message.id;
  auto wish = read_call(message);
  if (!wish) co_return answer_now(request, error_text(wish.error()));
  const CallPlace place(app, conversation, json::serialize(id));
  if (place.flag() == nullptr) {
    const RpcError error{
        kServerError,
        "Too many calls at once in this conversation, or two with one id; at most " +
            std::to_string(Conversation::kMaxCalls) + " may be under way",
        id};
    co_return answer_now(request, error_text(error));
  }
  CallStream::Options options;
  options.forms = answer_forms(request);
  options.token = std::move(wish->token);
  options.timeout = app.settings.mcp.timeout;
  CallStream stream(app.io, writer, std::move(options));
  stream.begin();
  ToolCall call{.app = app,
                .request = request,
                .caller = std::move(caller),
                .conversation = conversation,
                .cancel = place.flag(),
                .stream = stream,
                .arguments = std::move(wish->arguments)};
  json::object result = co_await run_tool(*wish->tool, call);
  if (place.is_cancelled()) {
    const RpcError error{kServerError, "the call was cancelled", id};
    std::string otherwise = error_text(error);
    co_return co_await stream.drop(std::move(otherwise));
  }
  if (place.is_late()) {
    json::array content;
    content.push_back(
        text_block("Error: the call was given up: it, and what was before it, took "
                   "too long"));
    result = json::object{{"content", std::move(content)}, {"isError", true}};
  }
  std::string text = result_text(id, std::move(result));
  co_return co_await stream.finish(app, std::move(text));
}

Task<Response> answer_request(App& app, Request& request, ResponseWriter& writer, Caller caller,
                              std::shared_ptr<Conversation> conversation, Message message) {
  if (message.method == "tools/call") {
    co_return co_await call_tool(app, request, writer, std::move(caller), std::move(conversation),
                                 std::move(message));
  }
  if (message.method == "ping") {
    co_return answer_now(request, result_text(message.id, json::object()));
  }
  if (message.method == "tools/list") {
    if (message.params.contains("cursor")) {
      const RpcError error{kInvalidParams, "Invalid params: there is one page, and no cursor",
                           message.id};
      co_return answer_now(request, error_text(error));
    }
    json::object result{{"tools", list_tools(app)}};
    co_return answer_now(request, result_text(message.id, std::move(result)));
  }
  const RpcError error{kMethodNotFound, "Method not found: " + wire::printable(message.method),
                       message.id};
  co_return answer_now(request, error_text(error));
}

}  // namespace

Task<Response> post_message(App& app, Request& request, ResponseWriter& writer) {
  CO_TRY(Caller caller, caller_of_one_project(app, request));
  if (auto refused = check_headers(request)) co_return std::move(*refused);
  auto parsed = parse_message(request.body);
  request.body = std::string();  // it can be large
  if (!parsed) co_return json_answer(error_text(parsed.error()), 400);
  Message message = std::move(*parsed);
  const bool is_request = message.kind == MessageKind::kRequest;
  if (is_request && message.method == "initialize") {
    co_return co_await initialize(app, request, caller, std::move(message));
  }
  Found found = find_conversation(app, request, caller.project);
  if (found.refusal) co_return std::move(*found.refusal);
  if (!is_request) {
    take_notification(*found.conversation, message);
    co_return Response::empty(202);
  }
  co_return co_await answer_request(app, request, writer, std::move(caller),
                                    std::move(found.conversation), std::move(message));
}

Task<Response> open_stream(App&, Request&, ResponseWriter&) {
  Response refused = refuse_message(
      405, kServerError, "Method Not Allowed: this server begins no messages of its own");
  refused.headers.set("Allow", "POST, DELETE");
  co_return refused;
}

Task<Response> end_conversation(App& app, Request& request, ResponseWriter&) {
  CO_TRY(const Caller caller, caller_of_one_project(app, request));
  Found found = find_conversation(app, request, caller.project);
  if (found.refusal) co_return std::move(*found.refusal);
  const auto conversation = found.conversation;
  conversation->has_ended = true;
  conversation->cancel_all();
  auto ended = co_await end_sandbox(app, conversation);
  if (!ended) {
    conversation->has_ended = false;  // to be tried again
    co_return fail(std::move(ended.error()));
  }
  Conversations::of(app).end(*conversation);
  co_return Response::empty();
}

}  // namespace glovebox::control::mcp
