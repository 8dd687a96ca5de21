#include "dialects/sessions_api/routes.h"

#include "dialects/sessions_api/handlers.h"
#include "api/handlers.h"

namespace glovebox::sessions_api {
namespace {

using http::Method;

constexpr api::RouteRow kRows[] = {
    {Method::kPost, "/api/v1/sessions", routing::Access::kKey, create_session, "Make a session for handlers",
     256 * 1024},
    {Method::kGet, "/api/v1/sessions/{id}", routing::Access::kKey, get_session, "One session"},
    {Method::kDelete, "/api/v1/sessions/{id}", routing::Access::kKey, delete_session,
     "End a session, if it has not ended"},
    {Method::kPost, "/api/v1/sessions/{id}/execute", routing::Access::kKey, execute,
     "Start a handler, and do not wait", http::kDefaultBodyLimit},
    {Method::kGet, "/api/v1/sessions/{id}/status", routing::Access::kKey, session_status,
     "How a session and its last execution are doing"},
    {Method::kGet, "/api/v1/sessions/{id}/result", routing::Access::kKey, execution_result,
     "What an execution came to"},
    {Method::kGet, "/api/v1/containers", routing::Access::kKey, list_containers,
     "The sandboxes of your project that live"},
    {Method::kGet, "/api/v1/containers/{id}", routing::Access::kKey, get_container,
     "The sandbox of a session"},
    {Method::kGet, "/api/v1/containers/{id}/logs", routing::Access::kKey, api::sandbox_logs,
     "What happened in a session's sandbox lately"},
    {Method::kGet, "/api/v1/templates", routing::Access::kKey, api::list_templates,
     "What sessions can be made of"},
    {Method::kPost, "/api/v1/templates", routing::Access::kKey, api::create_template,
     "Make a template of your project's own"},
};

}  // namespace

std::span<const api::RouteRow> rows() { return kRows; }

}  // namespace glovebox::sessions_api
