#include "api/route_documentation.h"

#include <algorithm>
#include <boost/json.hpp>

#include "api/console/asset_routes.h"
#include "api/console/session_routes.h"
#include "api/overview/live_routes.h"
#include "api/overview/overview_routes.h"
#include "api/routes/batch_routes.h"
#include "api/routes/bundle_routes.h"
#include "api/routes/docs_routes.h"
#include "api/routes/engine_routes.h"
#include "api/routes/event_routes.h"
#include "api/routes/function_routes.h"
#include "api/routes/host_report_routes.h"
#include "api/routes/image_routes.h"
#include "api/routes/key_routes.h"
#include "api/routes/layer_routes.h"
#include "api/routes/operations_routes.h"
#include "api/routes/run_record_routes.h"
#include "api/routes/run_routes.h"
#include "api/routes/sandboxes/code_routes.h"
#include "api/routes/sandboxes/context_routes.h"
#include "api/routes/sandboxes/exec_routes.h"
#include "api/routes/sandboxes/exec_stream_routes.h"
#include "api/routes/sandboxes/file_routes.h"
#include "api/routes/sandboxes/file_tree_routes.h"
#include "api/routes/sandboxes/file_watch_routes.h"
#include "api/routes/sandboxes/port_link_routes.h"
#include "api/routes/sandboxes/port_routes.h"
#include "api/routes/sandboxes/process_routes.h"
#include "api/routes/sandboxes/sandbox_metrics_routes.h"
#include "api/routes/sandboxes/sandbox_routes.h"
#include "api/routes/sandboxes/snapshot_routes.h"
#include "api/routes/setting_routes.h"
#include "api/routes/template_routes.h"
#include "dialects/e2b/dialect.h"
#include "dialects/mcp/dialect.h"
#include "dialects/sessions_api/dialect.h"
#include "dialects/workspace/dialect.h"

namespace glovebox::api {
namespace {

namespace json = boost::json;
using routing::RouteInfo;

json::object info_json(const RouteInfo& route, std::string_view access) {
  return {{"method", http::method_name(route.method)},
          {"path", route.pattern},
          {"access", access},
          {"summary", route.summary}};
}

template <class... Routes>
void append_all(std::vector<RouteInfo>& all) {
  (routing::append_info(all, Routes::rows()), ...);
}

}  // namespace

std::vector<RouteInfo> documented_routes() {
  std::vector<RouteInfo> all;
  append_all<RunRoutes, BatchRoutes, BundleRoutes, FunctionRoutes, RunRecordRoutes, SandboxRoutes,
             SandboxMetricsRoutes, SnapshotRoutes, ExecRoutes, ExecStreamRoutes, ProcessRoutes,
             ContextRoutes, CodeRoutes, FileRoutes, FileTreeRoutes, FileWatchRoutes, PortRoutes,
             PortLinkRoutes, TemplateRoutes, LayerRoutes, ImageRoutes, EngineRoutes, EventRoutes,
             KeyRoutes, OperationsRoutes, DocsRoutes, SettingRoutes, HostReportRoutes,
             OverviewRoutes, LiveRoutes, ConsoleSessionRoutes, ConsoleAssetRoutes>(all);
  routing::append_info(all, PortRoutes::page_rows());
  e2b::Dialect::append_info(all);
  workspace::Dialect::append_info(all);
  sessions_api::Dialect::append_info(all);
  mcp::Dialect::append_info(all);
  return all;
}

std::string routes_json() {
  const std::vector<RouteInfo> ours = documented_routes();
  json::array rows;
  for (const RouteInfo& route : ours) {
    rows.push_back(info_json(route, routing::access_name(route.access)));
  }
  // Paths of a sandbox, reached by host or header. If the server has the same path, the contract
  // describes the server's.
  std::vector<RouteInfo> of_sandboxes;
  e2b::Dialect::append_sandbox_info(of_sandboxes);
  for (const RouteInfo& route : of_sandboxes) {
    const bool is_ours = std::any_of(ours.begin(), ours.end(), [&route](const RouteInfo& one) {
      return one.method == route.method && one.pattern == route.pattern;
    });
    if (!is_ours) rows.push_back(info_json(route, "sandbox"));
  }
  return json::serialize(rows) + "\n";
}

}  // namespace glovebox::api
