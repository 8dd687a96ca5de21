#include "dialects/mcp/routes.h"

#include "dialects/mcp/handlers.h"

namespace glovebox::mcp {
namespace {

using http::Method;

constexpr std::size_t kMessageBody = std::size_t{24} << 20;  // 16 MB as base64, and words around it

constexpr api::RouteRow kRows[] = {
    {Method::kPost, "/mcp", routing::Access::kKey, post_message, "One message of the Model Context Protocol",
     kMessageBody},
    {Method::kGet, "/mcp", routing::Access::kKey, open_stream,
     "Refused, since the server begins no messages"},
    {Method::kDelete, "/mcp", routing::Access::kKey, end_conversation, "End a conversation and its sandbox"},
};

}  // namespace

std::span<const api::RouteRow> rows() { return kRows; }

}  // namespace glovebox::mcp
