#include "client/mcp/rpc_messages.h"

#include <utility>

namespace glovebox::client {
namespace {

namespace json = boost::json;

bool is_id(const json::value& value) {
  return value.is_string() || value.is_int64() || value.is_uint64();
}

std::optional<json::value> parse_object(std::string_view text) {
  boost::system::error_code error;
  json::value parsed = json::parse(text, error);
  if (error || !parsed.is_object()) return std::nullopt;
  return parsed;
}

// The same message with a field in params._meta.
std::string with_meta(std::string_view message, std::string_view name, json::value value) {
  auto parsed = parse_object(message);
  if (!parsed) return std::string(message);
  json::value& params = parsed->get_object()["params"];
  if (!params.is_object()) params = json::object();
  json::value& meta = params.get_object()["_meta"];
  if (!meta.is_object()) meta = json::object();
  meta.get_object()[name] = std::move(value);
  return json::serialize(*parsed);
}

}  // namespace

std::optional<RpcMessage> read_rpc(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  const json::object& object = parsed->get_object();
  RpcMessage message;
  if (const json::value* id = object.if_contains("id"); id != nullptr && is_id(*id)) {
    message.id = *id;
  }
  const json::value* method = object.if_contains("method");
  if (method == nullptr || !method->is_string()) {
    message.is_response = object.contains("result") || object.contains("error");
    return message;
  }
  message.method = method->get_string();
  if (message.method != "notifications/cancelled") return message;
  const json::value* params = object.if_contains("params");
  const json::value* call = params != nullptr && params->is_object()
                                ? params->get_object().if_contains("requestId")
                                : nullptr;
  if (call != nullptr && is_id(*call)) message.cancels = json::serialize(*call);
  return message;
}

bool is_json(std::string_view text) {
  boost::system::error_code error;
  (void)json::parse(text, error);
  return !error;
}

RpcErrorReply read_error_reply(std::string_view body) {
  RpcErrorReply reply;
  const auto parsed = parse_object(body);
  const json::value* error = parsed ? parsed->get_object().if_contains("error") : nullptr;
  if (error == nullptr || !error->is_object()) return reply;
  const json::value* message = error->get_object().if_contains("message");
  if (message != nullptr && message->is_string()) reply.message = message->get_string();
  const json::value* code = error->get_object().if_contains("code");
  const std::int64_t* number = code != nullptr ? code->if_int64() : nullptr;
  // The range that JSON-RPC reserves for itself and for servers.
  if (number != nullptr && *number >= -32768 && *number <= -32000) {
    reply.code = static_cast<int>(*number);
  }
  return reply;
}

std::string initialize_after_loss(std::string_view initialize) {
  return with_meta(initialize, "glovebox/resumes", true);
}

std::string initialize_with_sandbox(std::string_view initialize, const json::object& sandbox) {
  return with_meta(initialize, "glovebox/sandbox", sandbox);
}

std::string rpc_error(const json::value& id, int code, std::string_view message) {
  const json::object object{
      {"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", code}, {"message", message}}}};
  return json::serialize(object);
}

std::optional<std::string> on_one_line(std::string_view text) {
  const auto parsed = parse_object(text);
  if (!parsed) return std::nullopt;
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (text.find_first_of("\r\n") == std::string_view::npos) return std::string(text);
  return json::serialize(*parsed);
}

std::vector<std::optional<std::string>> InputLines::add(std::string_view bytes) {
  std::vector<std::optional<std::string>> lines;
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + part.size() > max_line_) {
      is_too_long_ = true;
      line_ = std::string();
    }
    if (!is_too_long_) line_ += part;
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    if (is_too_long_) {
      lines.emplace_back(std::nullopt);
    } else {
      if (line_.ends_with('\r')) line_.pop_back();
      if (!line_.empty()) lines.emplace_back(std::move(line_));
    }
    line_ = std::string();
    is_too_long_ = false;
  }
  return lines;
}

bool EventReader::add(std::string_view bytes, std::vector<std::string>& events) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (line_.size() + data_.size() + part.size() > max_event_) return false;
    line_ += part;
    if (end == std::string_view::npos) return true;
    bytes.remove_prefix(end + 1);
    take_line(events);
    line_.clear();
  }
  return true;
}

void EventReader::take_line(std::vector<std::string>& events) {
  std::string_view line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    if (has_data_ && !data_.empty()) events.push_back(std::move(data_));
    data_ = std::string();
    has_data_ = false;
    return;
  }
  if (!line.starts_with("data:")) return;  // a comment, an id, the kind of event
  line.remove_prefix(5);
  if (line.starts_with(' ')) line.remove_prefix(1);
  if (has_data_) data_ += '\n';
  data_ += line;
  has_data_ = true;
}

}  // namespace glovebox::client
