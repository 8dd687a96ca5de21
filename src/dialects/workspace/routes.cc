#include "dialects/workspace/routes.h"

#include "dialects/workspace/handlers.h"

namespace glovebox::workspace {
namespace {

using http::Method;

constexpr api::RouteRow kRows[] = {
    {Method::kPost, "/workspace/se/session/{session_id}", routing::Access::kKey, create_session,
     "Make a session under your own id"},
    {Method::kDelete, "/workspace/se/session/{session_id}", routing::Access::kKey, delete_session,
     "End a session"},
    {Method::kGet, "/workspace/se/status/{session_id}", routing::Access::kKey, session_status,
     "How a session is doing"},
    {Method::kPost, "/workspace/se/execute_code/{session_id}", routing::Access::kKey, execute_code,
     "Run Python code in a session", http::kDefaultBodyLimit},
    {Method::kPost, "/workspace/se/execute/{session_id}", routing::Access::kKey, execute_command,
     "Run a shell command in a session", http::kDefaultBodyLimit},
    {Method::kPost, "/workspace/se/upload/{session_id}", routing::Access::kKey, upload_file,
     "Upload a file to a session", 0, nullptr, true},
    {Method::kGet, "/workspace/se/download/{session_id}/{filename*}", routing::Access::kKey, download_file,
     "Download a file of a session"},
    {Method::kGet, "/workspace/se/files/{session_id}", routing::Access::kKey, list_files,
     "The files of a session"},
};

}  // namespace

std::span<const api::RouteRow> rows() { return kRows; }

}  // namespace glovebox::workspace
