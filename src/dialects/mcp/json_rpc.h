// One message of JSON-RPC 2.0 as the Model Context Protocol has it: read strictly, written in one
// line. Batches, which the protocol had for one revision only, are refused.
#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace glovebox::mcp {

inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kServerError = -32000;

enum class MessageKind : std::uint8_t { kRequest, kNotification, kResponse };

struct Message {
  MessageKind kind = MessageKind::kRequest;
  boost::json::value id;  // of a request: a string or a whole number
  std::string method;     // empty: a response
  boost::json::object params;
};

struct RpcError {
  int code = kInternalError;
  std::string message;
  boost::json::value id = nullptr;  // of the request, if it could be read
};

tl::expected<Message, RpcError> parse_message(std::string_view text);

// A request's id or a progress token: a string of a bounded length, or a whole number.
bool is_token(const boost::json::value& value);

std::string result_text(const boost::json::value& id, boost::json::object result);
std::string error_text(const RpcError& error);
std::string notification_text(std::string_view method, boost::json::object params);

}  // namespace glovebox::mcp
