// E2B's API, so that its clients work with this server: a control plane with API keys, and the
// agent API of each sandbox on two virtual ports (envd and the code interpreter), with the
// sandbox's own access token. Translates onto the same sandboxes, templates and snapshots as /v1.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "dialects/e2b/access_tokens.h"
#include "dialects/e2b/agent_access.h"
#include "dialects/e2b/control/hosted_routes.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_metrics_routes.h"
#include "dialects/e2b/control/sandbox_routes.h"
#include "dialects/e2b/control/snapshot_routes.h"
#include "dialects/e2b/control/template_names.h"
#include "dialects/e2b/control/template_routes.h"
#include "dialects/e2b/envd/envd_routes.h"
#include "dialects/e2b/envd/file_routes.h"
#include "dialects/e2b/envd/filesystem_routes.h"
#include "dialects/e2b/envd/process_registry.h"
#include "dialects/e2b/envd/process_routes.h"
#include "dialects/e2b/envd/process_start_routes.h"
#include "dialects/e2b/envd/signature.h"
#include "dialects/e2b/envd/watch_routes.h"
#include "dialects/e2b/envd/watchers.h"
#include "dialects/e2b/envd_router.h"
#include "dialects/e2b/interpreter/interpreter_routes.h"
#include "dialects/e2b/settings.h"
#include "routing/port_dialect.h"
#include "routing/route_table.h"
#include "routing/worker.h"

namespace glovebox::e2b {

// All are borrowed and outlive the dialect.
struct Dependencies {
  asio::io_context& io;
  const node::RunService& node;
  node::SessionService& session_service;
  store::Store& store;
  templates::ProjectTemplates& templates;
  templates::TemplateWatcher& template_watcher;
  snapshots::SnapshotStore& snapshots;
  sessions::Sessions& sessions;  // for requests that use a running session
  sessions::SessionRegistry& registry;
  sessions::SessionLifecycle& lifecycle;
  sessions::SessionSnapshots& session_snapshots;
  sessions::SessionSampler& sampler;
  sessions::ProcessStarter& processes;
  sessions::OomKillCounter& oom_kills;
  sessions::InputPumps& inputs;
  sessions::Contexts& contexts;
  const routing::Authenticator& authenticator;
  routing::SandboxAccess& access;
  routing::SandboxCreation& creation;
  routing::Worker& worker;  // for large bodies
  const bool& is_stopping;  // the server
};

class Dialect final : public routing::PortDialect {
 public:
  Dialect(const Dependencies& on, Settings settings);
  Dialect(const Dialect&) = delete;
  Dialect& operator=(const Dialect&) = delete;

  // What the core has to know before there is a dialect.
  static std::vector<std::string_view> key_prefixes();  // for routing::KeyForms
  static std::vector<templates::ReservedName> reserved_template_names();

  // Supervises what the server before this one has started. Once, at the server's start.
  void start() { processes_->start(); }

  // The control plane. The dialect outlives the routes.
  void add_routes(routing::RouteTable& table);
  static void append_info(std::vector<routing::RouteInfo>& all);
  // The agent API of sandboxes, for the documentation.
  static void append_sandbox_info(std::vector<routing::RouteInfo>& all);

  // routing::PortDialect: requests that name a sandbox by the headers E2b-Sandbox-Id and
  // E2b-Sandbox-Port.
  std::optional<routing::PortTarget> target_of(const http::Request& request) const override;
  const http::Route* find(http::Request& request, const routing::PortTarget& target) const override;
  const http::Route* find_untargeted(const http::Request& request) const override;
  std::string_view port_token_of(const http::Request& request) const override;
  std::span<const std::string_view> private_headers() const override;

  // Of the sandbox that the path parameter "id" names.
  bool shows_access_token(const http::Request& request) const;

  const AccessTokens& tokens() const { return tokens_; }
  const Watchers& watchers() const { return *watchers_; }

 private:
  EnvdRouter make_envd_router(const routing::Authenticator& authenticator);

  const Settings settings_;
  const AccessTokens tokens_;
  const TemplateNames names_;
  const SandboxJson sandbox_json_;
  AgentAccess access_;
  SignedFileAccess file_access_;
  // Shared with the coroutines that supervise processes and watches.
  const std::shared_ptr<ProcessRegistry> processes_;
  const std::shared_ptr<Watchers> watchers_;

  SandboxRoutes sandboxes_;
  SandboxMetricsRoutes metrics_;
  SnapshotRoutes snapshots_;
  TemplateRoutes templates_;
  HostedRoutes hosted_;

  ProcessStartRoutes process_start_;
  ProcessRoutes process_;
  FilesystemRoutes filesystem_;
  WatchRoutes watch_;
  FileRoutes files_;
  EnvdRoutes envd_;
  InterpreterRoutes interpreter_;
  const EnvdRouter envd_router_;
};

}  // namespace glovebox::e2b
