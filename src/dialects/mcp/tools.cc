#include "dialects/mcp/tools.h"

#include <cmath>
#include <utility>

#include "base/utf8.h"
#include "dialects/mcp/sandbox.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

std::string note_of(Conversation& conversation) {
  if (conversation.lost.empty()) return {};
  const std::string why = printable(std::exchange(conversation.lost, {}));
  return "The sandbox of this conversation has ended (" + why +
         "). This is a fresh one: variables, files and processes from before are gone.";
}

}  // namespace

json::object text_block(std::string text) { return {{"type", "text"}, {"text", std::move(text)}}; }

Result<std::chrono::milliseconds> read_timeout(const routing::App& app, wire::ObjectReader& fields) {
  const std::chrono::milliseconds most = app.settings.mcp.timeout;
  const double most_s = static_cast<double>(most.count()) / 1000.0;
  TRY(const auto seconds, fields.number("timeout_s", 0.001, most_s));
  if (!seconds) return most;
  return std::chrono::milliseconds(std::llround(std::ceil(*seconds * 1000.0)));
}

asio::awaitable<json::object> run_tool(const Tool& tool, ToolCall& call) {
  Result<ToolResult> result = co_await tool.run(call);
  if (!result) {
    ToolResult refused;
    refused.content.push_back(text_block("Error: " + to_utf8(result.error().message())));
    refused.is_error = true;
    result = std::move(refused);
  }
  co_await keep_sandbox(call.app, call.conversation);
  const std::string note = note_of(*call.conversation);
  if (!note.empty()) {
    result->content.insert(result->content.begin(), text_block("Note: " + note));
    if (result->structured) (*result->structured)["note"] = note;
  }
  json::object object{{"content", std::move(result->content)}};
  if (result->structured) object["structuredContent"] = std::move(*result->structured);
  object["isError"] = result->is_error;
  co_return object;
}

Task<ToolResult> reset_sandbox(ToolCall& call) {
  CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(call.arguments, ""));
  CO_TRY_OK(fields.finish());
  CO_TRY(const bool was_there, co_await end_sandbox(call.app, call.conversation));
  ToolResult result;
  result.content.push_back(text_block(was_there
                                          ? "The sandbox is gone. The next call gets a fresh one."
                                          : "There was no sandbox; the next call gets one."));
  co_return result;
}

}  // namespace glovebox::mcp
