#include "dialects/e2b/envd_router.h"

#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/handlers.h"

namespace glovebox::e2b {
namespace {

using http::Method;

constexpr std::uint16_t kEnvdPort = 49983;
constexpr std::uint16_t kInterpreterPort = 49999;
constexpr std::size_t kMessage = http::kDefaultBodyLimit;

constexpr api::RouteRow call(std::string_view path,
                        Task<Response> (*handler)(routing::App&, Request&, ResponseWriter&),
                        std::string_view summary) {
  return {Method::kPost, path,    routing::Access::kOpen, handler,      summary,
          kMessage,      nullptr, false,         api::Dialect::kE2b};
}

constexpr api::RouteRow kEnvd[] = {
    call("/process.Process/Start", process_start, "Start a process and follow it"),
    call("/process.Process/Connect", process_connect, "Follow a process"),
    call("/process.Process/List", process_list, "The processes of a sandbox"),
    call("/process.Process/SendInput", process_send_input, "Write to a process"),
    {Method::kPost, "/process.Process/StreamInput", routing::Access::kOpen, process_stream_input,
     "Write to a process, as it comes", 0, nullptr, true, api::Dialect::kE2b},
    call("/process.Process/CloseStdin", process_close_stdin, "End a process's input"),
    call("/process.Process/SendSignal", process_send_signal, "Send a process a signal"),
    call("/process.Process/Update", process_update, "Change a terminal's size"),
    call("/filesystem.Filesystem/Stat", files_stat, "What is known of a file"),
    call("/filesystem.Filesystem/ListDir", files_list_dir, "What is in a directory"),
    call("/filesystem.Filesystem/MakeDir", files_make_dir, "Make a directory"),
    call("/filesystem.Filesystem/Move", files_move, "Move a file or a tree"),
    call("/filesystem.Filesystem/Remove", files_remove, "Remove a file or a tree"),
    call("/filesystem.Filesystem/WatchDir", files_watch_dir, "What happens to files, live"),
    call("/filesystem.Filesystem/CreateWatcher", files_create_watcher, "Begin to watch files"),
    call("/filesystem.Filesystem/GetWatcherEvents", files_get_watcher_events,
         "What happened since the last time"),
    call("/filesystem.Filesystem/RemoveWatcher", files_remove_watcher, "Watch no longer"),
    {Method::kGet, "/files", routing::Access::kOpen, download, "The bytes of a file", 0, nullptr, false,
     api::Dialect::kE2b},
    {Method::kPost, "/files", routing::Access::kOpen, upload, "Write files", 0, nullptr, true,
     api::Dialect::kE2b},
    {Method::kGet, "/health", routing::Access::kOpen, envd_health, "Is the sandbox alive?", 0, nullptr,
     false, api::Dialect::kE2b},
    {Method::kGet, "/metrics", routing::Access::kOpen, envd_metrics, "What the sandbox uses", 0, nullptr,
     false, api::Dialect::kE2b},
    {Method::kGet, "/envs", routing::Access::kOpen, envd_envs, "The sandbox's environment", 0, nullptr,
     false, api::Dialect::kE2b},
};

constexpr api::RouteRow kInterpreterRoutes[] = {
    call("/execute", interpreter_execute, "Run code in a context"),
    call("/contexts", interpreter_create_context, "Make a code context"),
    {Method::kGet, "/contexts", routing::Access::kOpen, interpreter_list_contexts,
     "The code contexts of a sandbox", 0, nullptr, false, api::Dialect::kE2b},
    call("/contexts/{context}/restart", interpreter_restart_context, "Begin a context anew"),
    {Method::kDelete, "/contexts/{context}", routing::Access::kOpen, interpreter_delete_context,
     "End a code context", 0, nullptr, false, api::Dialect::kE2b},
    {Method::kGet, "/health", routing::Access::kOpen, interpreter_health, "Is the interpreter alive?", 0,
     nullptr, false, api::Dialect::kE2b},
};

http::Route route_of(routing::App& app, const api::RouteRow& row) {
  http::Route route;
  route.method = row.method;
  route.pattern = row.pattern;
  route.handler = api::route_handler(app, row);
  route.max_body = row.max_body;
  route.cors = http::Cors::kAny;
  route.streams_body = row.streams_body;
  route.admits_itself = true;  // by the sandbox's own token
  return route;
}

http::Router router_of(routing::App& app, std::span<const api::RouteRow> rows) {
  http::Router router;
  for (const api::RouteRow& row : rows) router.add(route_of(app, row));
  return router;
}

Task<Response> say_nothing_there(routing::App&, Request&, ResponseWriter&) {
  co_return refusal(404, "there is nothing at this path");
}

constexpr api::RouteRow kNothing = call("(envd)", say_nothing_there, "");

}  // namespace

std::span<const api::RouteRow> envd_routes() { return kEnvd; }

std::span<const api::RouteRow> interpreter_routes() { return kInterpreterRoutes; }

EnvdRouter::EnvdRouter(routing::App& app)
    : envd_(router_of(app, kEnvd)),
      interpreter_(router_of(app, kInterpreterRoutes)),
      nothing_(route_of(app, kNothing)) {}

const http::Route* EnvdRouter::find(http::Request& request, const routing::PortTarget& wish) const {
  if (wish.port != kEnvdPort && wish.port != kInterpreterPort) return nullptr;
  const http::Router& router = wish.port == kEnvdPort ? envd_ : interpreter_;
  const std::string_view path =
      std::string_view(request.target).substr(0, request.target.find('?'));
  http::Method method = request.method;
  // A page asks first whether it may: by the path alone.
  if (method == Method::kOptions) {
    const http::Router::Match any = router.find(method, path);
    if (!any.allowed.empty()) method = any.allowed.front();
  }
  const http::Router::Match match = router.find(method, path);
  if (match.route == nullptr) return &nothing_;
  for (const auto& [name, value] : match.params) request.path_params.add(name, value);
  return match.route;
}

const http::Route* EnvdRouter::find_signed(const http::Request& request) const {
  if (request.path != "/files") return nullptr;
  http::Method method = request.method == Method::kOptions ? Method::kGet : request.method;
  return envd_.find(method, "/files").route;
}

}  // namespace glovebox::e2b
