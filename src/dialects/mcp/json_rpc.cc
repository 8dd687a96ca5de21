#include "dialects/mcp/json_rpc.h"

#include <utility>

#include "wire/json/strict_json.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxToken = 256;
constexpr std::size_t kMaxMethod = 128;

tl::unexpected<RpcError> refuse_rpc(int code, std::string message, json::value id = nullptr) {
  return tl::unexpected<RpcError>(RpcError{code, std::move(message), std::move(id)});
}

}  // namespace

bool is_token(const json::value& value) {
  if (const json::string* text = value.if_string()) return text->size() <= kMaxToken;
  return value.is_int64() || value.is_uint64();
}

tl::expected<Message, RpcError> parse_message(std::string_view text) {
  auto document = wire::parse_strict_json(text, {.depth = 32});
  if (!document) return refuse_rpc(kParseError, "Parse error: " + document.error().message());
  if (document->is_array()) {
    return refuse_rpc(kInvalidRequest,
                      "Invalid Request: batches are not supported; send one message per request");
  }
  json::object* object = document->if_object();
  if (object == nullptr) return refuse_rpc(kInvalidRequest, "Invalid Request: not a JSON object");

  Message message;
  const json::value* id = object->if_contains("id");
  const bool has_id = id != nullptr && is_token(*id);
  if (has_id) message.id = *id;
  const auto bad = [&message](const char* why) {
    return refuse_rpc(kInvalidRequest, std::string("Invalid Request: ") + why, message.id);
  };
  const json::value* version = object->if_contains("jsonrpc");
  if (version == nullptr || *version != "2.0") return bad("jsonrpc must be \"2.0\"");
  const json::value* method = object->if_contains("method");
  if (method == nullptr) {
    const bool is_response = object->contains("result") || object->contains("error");
    if (!is_response || id == nullptr) return bad("method is missing");
    message.kind = MessageKind::kResponse;
    return message;
  }
  if (!method->is_string() || method->get_string().size() > kMaxMethod) {
    return bad("method must be a short string");
  }
  if (id != nullptr && !has_id) return bad("id must be a string or a whole number");
  message.kind = has_id ? MessageKind::kRequest : MessageKind::kNotification;
  message.method = method->get_string();
  if (json::value* params = object->if_contains("params")) {
    if (!params->is_object()) return bad("params must be an object");
    message.params = std::move(params->get_object());
  }
  return message;
}

std::string result_text(const json::value& id, json::object result) {
  json::object message{{"jsonrpc", "2.0"}, {"id", id}};
  message["result"] = std::move(result);
  return json::serialize(message);
}

std::string error_text(const RpcError& error) {
  const json::object message{{"jsonrpc", "2.0"},
                             {"id", error.id},
                             {"error", {{"code", error.code}, {"message", error.message}}}};
  return json::serialize(message);
}

std::string notification_text(std::string_view method, json::object params) {
  json::object message{{"jsonrpc", "2.0"}, {"method", method}};
  message["params"] = std::move(params);
  return json::serialize(message);
}

}  // namespace glovebox::mcp
