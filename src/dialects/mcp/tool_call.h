// One call of a tool, and its result. What goes wrong with code, commands and files is a result
// with isError, because the model can react to it; an error of the protocol is for mistakes of the
// client program.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "dialects/mcp/call_stream.h"
#include "dialects/mcp/conversations.h"
#include "dialects/mcp/settings.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "wire/json/object_reader.h"

namespace glovebox::mcp {

struct ToolResult {
  boost::json::array content;
  std::optional<boost::json::object> structured{};  // by the tool's outputSchema
  bool is_error = false;
};

// Lives until the call is answered.
struct ToolCall {
  http::Request& request;
  routing::Caller caller;
  std::shared_ptr<Conversation> conversation;
  std::shared_ptr<node::CancelFlag> cancel;
  CallStream& stream;
  boost::json::value arguments;  // an object
};

// `timeout_s` of the arguments, at most the server's; missing: the server's.
Result<std::chrono::milliseconds> read_timeout(const Settings& settings,
                                               wire::ObjectReader& fields);
boost::json::object text_block(std::string text);

}  // namespace glovebox::mcp
