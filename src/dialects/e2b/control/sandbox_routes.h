// E2B's sandboxes: created, listed, shown, connected to, kept alive, paused, killed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/task.h"
#include "dialects/e2b/control/sandbox_json.h"
#include "dialects/e2b/control/sandbox_request.h"
#include "dialects/e2b/control/template_names.h"
#include "dialects/e2b/settings.h"
#include "http/message.h"
#include "routing/authenticator.h"
#include "routing/route_table.h"
#include "routing/sandbox_creation.h"
#include "sessions/session_lifecycle.h"
#include "sessions/session_registry.h"
#include "store/store.h"
#include "templates/project_templates.h"
#include "templates/template_watcher.h"

namespace glovebox::e2b {

class SandboxRoutes {
 public:
  // All are borrowed and outlive this.
  struct Dependencies {
    const routing::Authenticator& authenticator;
    routing::SandboxCreation& creation;
    sessions::SessionRegistry& registry;
    sessions::SessionLifecycle& lifecycle;
    store::Store& store;
    const templates::ProjectTemplates& templates;
    templates::TemplateWatcher& template_watcher;
    const TemplateNames& names;
    const SandboxJson& sandbox_json;
    const Settings& settings;
  };
  explicit SandboxRoutes(Dependencies dependencies) : deps_(dependencies) {}

  static std::span<const routing::RouteRow<SandboxRoutes>> rows();

  // The unversioned routes are of older clients: another default timeout, and running sandboxes
  // only.
  Task<http::Response> create_v1(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> create_v2(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_v1(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> list_v2(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> get(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> kill(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> set_timeout(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> refresh(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> pause(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> resume(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> connect_v1(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> connect_v2(http::Request& request, http::ResponseWriter& writer);
  Task<http::Response> update_network(http::Request& request, http::ResponseWriter& writer);

 private:
  Task<http::Response> create(http::Request& request, std::uint64_t default_timeout);
  Result<TemplateSource> source_of(const std::string& project,
                                   const CreateSandboxRequest& wanted) const;
  Task<http::Response> list(http::Request& request, store::SessionFilter filter);
  // By the query's "template". False: no such template, so no sandbox matches.
  bool filter_by_template(const std::string& project, const http::Request& request,
                          store::SessionFilter& filter) const;
  // What the sandbox does at its timeout, now.
  Task<http::Response> expire_now(std::string project, std::string id, OnTimeout action);
  Task<http::Response> connect(http::Request& request, std::uint64_t default_timeout);
  Task<http::Response> connect_to(http::Request& request, std::string project,
                                  ConnectRequest wanted);

  const Dependencies deps_;
};

}  // namespace glovebox::e2b
