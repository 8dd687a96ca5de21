#include "dialects/mcp/toolbox.h"

#include <string>
#include <utility>

#include "base/utf8.h"

namespace glovebox::mcp {
namespace {

namespace json = boost::json;

// Once: the next result does not repeat it.
std::string take_note(Conversation& conversation) {
  if (conversation.lost.empty()) return {};
  const std::string why = printable(std::exchange(conversation.lost, {}));
  return "The sandbox of this conversation has ended (" + why +
         "). This is a fresh one: variables, files and processes from before are gone.";
}

}  // namespace

const Toolbox::Tool* Toolbox::find(std::string_view name) {
  static constexpr Tool kByName[] = {
      {"run_code", &Toolbox::run_code},     {"run_command", &Toolbox::run_command},
      {"read_file", &Toolbox::read_file},   {"write_file", &Toolbox::write_file},
      {"list_files", &Toolbox::list_files}, {"reset_sandbox", &Toolbox::reset_sandbox},
  };
  for (const Tool& tool : kByName) {
    if (tool.name == name) return &tool;
  }
  return nullptr;
}

asio::awaitable<json::object> Toolbox::run(const Tool& tool, ToolCall& call) {
  Result<ToolResult> result = co_await (this->*tool.run)(call);
  if (!result) {
    ToolResult failed;
    failed.content.push_back(text_block("Error: " + to_utf8(result.error().message())));
    failed.is_error = true;
    result = std::move(failed);
  }
  co_await sandboxes_.keep(call.conversation);
  const std::string note = take_note(*call.conversation);
  if (!note.empty()) {
    result->content.insert(result->content.begin(), text_block("Note: " + note));
    if (result->structured) (*result->structured)["note"] = note;
  }
  json::object object{{"content", std::move(result->content)}};
  if (result->structured) object["structuredContent"] = std::move(*result->structured);
  object["isError"] = result->is_error;
  co_return object;
}

Task<ToolResult> Toolbox::reset_sandbox(ToolCall& call) {
  CO_TRY(wire::ObjectReader fields, wire::ObjectReader::open(call.arguments, ""));
  CO_TRY_OK(fields.finish());
  CO_TRY(const bool was_there, co_await sandboxes_.end(call.conversation));
  ToolResult result;
  result.content.push_back(text_block(was_there
                                          ? "The sandbox is gone. The next call gets a fresh one."
                                          : "There was no sandbox; the next call gets one."));
  co_return result;
}

}  // namespace glovebox::mcp
