#include "control/dialects/sessions_api/routes.h"

#include "control/dialects/sessions_api/handlers.h"
#include "control/routes/handlers.h"

namespace glovebox::control::sessions_api {
namespace {

using http::Method;

constexpr RouteRow kRows[] = {
    {Method::kPost, "/api/v1/sessions", Access::kKey, create_session, "Make a session for handlers",
     256 * 1024},
    {Method::kGet, "/api/v1/sessions/{id}", Access::kKey, get_session, "One session"},
    {Method::kDelete, "/api/v1/sessions/{id}", Access::kKey, delete_session,
     "End a session, if it has not ended"},
    {Method::kPost, "/api/v1/sessions/{id}/execute", Access::kKey, execute,
     "Start a handler, and do not wait", http::kDefaultBodyLimit},
    {Method::kGet, "/api/v1/sessions/{id}/status", Access::kKey, session_status,
     "How a session and its last execution are doing"},
    {Method::kGet, "/api/v1/sessions/{id}/result", Access::kKey, execution_result,
     "What an execution came to"},
    {Method::kGet, "/api/v1/containers", Access::kKey, list_containers,
     "The sandboxes of your project that live"},
    {Method::kGet, "/api/v1/containers/{id}", Access::kKey, get_container,
     "The sandbox of a session"},
    {Method::kGet, "/api/v1/containers/{id}/logs", Access::kKey, routes::sandbox_logs,
     "What happened in a session's sandbox lately"},
    {Method::kGet, "/api/v1/templates", Access::kKey, routes::list_templates,
     "What sessions can be made of"},
    {Method::kPost, "/api/v1/templates", Access::kKey, routes::create_template,
     "Make a template of your project's own"},
};

}  // namespace

std::span<const RouteRow> rows() { return kRows; }

}  // namespace glovebox::control::sessions_api
