#include "control/dialects/mcp/routes.h"

#include "control/dialects/mcp/handlers.h"

namespace glovebox::control::mcp {
namespace {

using http::Method;

constexpr std::size_t kMessageBody = std::size_t{24} << 20;  // 16 MB as base64, and words around it

constexpr RouteRow kRows[] = {
    {Method::kPost, "/mcp", Access::kKey, post_message, "One message of the Model Context Protocol",
     kMessageBody},
    {Method::kGet, "/mcp", Access::kKey, open_stream,
     "Refused, since the server begins no messages"},
    {Method::kDelete, "/mcp", Access::kKey, end_conversation, "End a conversation and its sandbox"},
};

}  // namespace

std::span<const RouteRow> rows() { return kRows; }

}  // namespace glovebox::control::mcp
