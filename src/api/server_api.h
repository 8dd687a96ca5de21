// The server's HTTP API, constructed explicitly in order: the services over node and store, the
// route classes of /v1 and of every dialect with their dependencies, and the router. Lives on the
// server's one thread, longer than any request.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "api/console/asset_routes.h"
#include "api/console/session_routes.h"
#include "api/overview/live_routes.h"
#include "api/overview/overview_routes.h"
#include "api/overview/overview_sampler.h"
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
#include "api/run_flow.h"
#include "base/memory_budget.h"
#include "config/load.h"
#include "dialects/e2b/dialect.h"
#include "dialects/mcp/dialect.h"
#include "dialects/sessions_api/dialect.h"
#include "dialects/workspace/dialect.h"
#include "events/event_hub.h"
#include "http/origin_rules.h"
#include "http/server/server.h"
#include "images/image_service.h"
#include "model/wall.h"
#include "net/net_policy.h"
#include "node/networks/network_service.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "packages/package_preparation.h"
#include "packages/package_service.h"
#include "routing/authenticator.h"
#include "routing/exec_runner.h"
#include "routing/large_responses.h"
#include "routing/port_links.h"
#include "routing/port_proxy.h"
#include "routing/port_routing.h"
#include "routing/sandbox_access.h"
#include "routing/sandbox_creation.h"
#include "routing/sandbox_lookup.h"
#include "routing/template_requests.h"
#include "routing/worker.h"
#include "runs/bundle_store.h"
#include "runs/metrics.h"
#include "runs/run_log.h"
#include "runs/run_plan.h"
#include "sessions/contexts/context_table.h"
#include "sessions/processes/input_pump.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_starter.h"
#include "sessions/session_services.h"
#include "signin/attempts.h"
#include "signin/browser_sessions.h"
#include "snapshots/snapshot_store.h"
#include "store/key_usage.h"
#include "store/store.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::api {

struct ApiSettings {
  bool is_loopback = true;  // off loopback, /metrics and /docs need a key
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade{};  // the administrator's floor; a request may only raise it
  bool log_requests = true;
  std::string version;
  // The secret from which tokens of sandboxes are derived; a restart keeps it. Empty: no tokens.
  std::string secret;
  std::string domain;  // host names of sandboxes' ports are below it; empty: none is configured
  std::uint64_t max_held_output = 512ull << 20;
  std::size_t max_body = http::kRunBodyLimit;
  net::NetCeiling ceiling{};  // what the administrator lets sandboxes reach
  workspace::Settings workspace{};
  mcp::Settings mcp{};
  http::OriginRules origins{};  // as the HTTP server has them
  ConsoleSettings console{};
  std::string attack_report;     // the file of the last report of `glovebox attack`; empty: none
  config::SettingTable table{};  // all settings, to be shown
};

class ServerApi {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    node::RunService& node;
    node::SessionService& session_service;
    store::Store& store;
    store::KeyUsage& usage;
    events::EventHub& events;
    templates::ProjectTemplates& templates;
    snapshots::SnapshotStore& snapshots;
    packages::PackageService& packages;
    images::ImageService& images;
    sessions::SessionServices& session_services;
    sessions::Sessions& sessions;  // the running ones; in a server, the registry
  };
  ServerApi(const Dependencies& on, ApiSettings settings_);
  // The names of templates that the dialects reserve; for the constructor of ProjectTemplates.
  static std::vector<templates::ReservedName> reserved_template_names();
  ServerApi(const ServerApi&) = delete;
  ServerApi& operator=(const ServerApi&) = delete;

  // For http::Server. The router and the routes it finds live as long as this.
  http::Router make_router();
  const http::Route* route_first(http::Request& request) { return port_routing.find(request); }
  // Whom the HTTP server charges the request to.
  http::RequestOwner owner_of(const http::Request& request) const;
  // Writes one line to the log, and counts the answer.
  void log_exchange(const http::Exchange& exchange);

  // Takes over what an earlier server started, and begins to watch templates. Once, when the server
  // begins to serve.
  void start();
  // Called when the server stops: it is no longer ready.
  void stop();

 private:
  asio::io_context& io_;

 public:
  // Member order is construction order: each may use those above it.
  const ApiSettings settings;
  bool is_stopping = false;
  std::function<http::ServerFigures()> http_figures = [] { return http::ServerFigures{}; };
  HostReportRoutes::DoctorReport doctor_report;  // null: no program can examine the host
  MemoryBudget memory_budget;                    // for answers and input that wait to be read
  routing::Worker worker;  // for work that would block the server's one thread too long
  runs::Metrics metrics;
  signin::BrowserSessions browsers;
  signin::Attempts sign_in_attempts;
  routing::Authenticator authenticator;
  templates::TemplateWatcher watcher;
  packages::PackagePreparation preparation;
  sessions::OomKillCounter oom_kills;
  sessions::InputPumps inputs;
  sessions::Contexts contexts;
  sessions::ProcessStarter processes;
  routing::LargeResponses responses;
  routing::SandboxLookup lookup;
  routing::SandboxAccess access;
  routing::SandboxCreation creation;
  routing::ExecRunner execs;
  routing::TemplateRequests template_requests;
  runs::BundleStore bundles;
  runs::RunPlanner planner;
  runs::RunLog run_log;
  RunFlow run_flow;

  e2b::Dialect e2b;
  workspace::Dialect workspace;
  sessions_api::Dialect sessions_api;
  mcp::Dialect mcp;

  OverviewSampler overview_sampler;

  routing::PortProxy port_proxy;
  routing::PortLinks port_links;
  routing::PortRouting port_routing;

 private:
  RunRoutes run_routes_;
  BatchRoutes batch_routes_;
  BundleRoutes bundle_routes_;
  FunctionRoutes function_routes_;
  RunRecordRoutes run_record_routes_;
  SandboxRoutes sandbox_routes_;
  SandboxMetricsRoutes sandbox_metrics_routes_;
  SnapshotRoutes snapshot_routes_;
  ExecRoutes exec_routes_;
  ExecStreamRoutes exec_stream_routes_;
  ProcessRoutes process_routes_;
  ContextRoutes context_routes_;
  CodeRoutes code_routes_;
  FileRoutes file_routes_;
  FileTreeRoutes file_tree_routes_;
  FileWatchRoutes file_watch_routes_;
  PortRoutes port_routes_;
  PortLinkRoutes port_link_routes_;
  TemplateRoutes template_routes_;
  LayerRoutes layer_routes_;
  ImageRoutes image_routes_;
  EngineRoutes engine_routes_;
  EventRoutes event_routes_;
  KeyRoutes key_routes_;
  OperationsRoutes operations_routes_;
  DocsRoutes docs_routes_;
  SettingRoutes setting_routes_;
  HostReportRoutes host_report_routes_;
  OverviewRoutes overview_routes_;
  LiveRoutes live_routes_;
  ConsoleSessionRoutes console_session_routes_;
  ConsoleAssetRoutes console_asset_routes_;
};

}  // namespace glovebox::api
