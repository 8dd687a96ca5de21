#include "dialects/e2b/dialect.h"

#include <string>
#include <utility>

#include "dialects/e2b/error_form.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kIdHeader = "E2b-Sandbox-Id";
constexpr std::string_view kPortHeader = "E2b-Sandbox-Port";
constexpr std::string_view kTrafficTokenHeader = "E2b-Traffic-Access-Token";
constexpr std::string_view kAccessTokenHeader = "X-Access-Token";
constexpr std::string_view kPrivateHeaders[] = {kAccessTokenHeader, kTrafficTokenHeader, kIdHeader,
                                                kPortHeader};

// Clients run in browsers, too. The rows of the agent API are open: requests are admitted by the
// sandbox's access token, those with a large body also before it is read.
const routing::RouteStyle& e2b_style() {
  static const routing::RouteStyle style{.cors = http::Cors::kAny, .error_form = error_form};
  return style;
}

}  // namespace

Dialect::Dialect(const Dependencies& on, Settings settings)
    : settings_(std::move(settings)),
      tokens_(settings_.secret),
      names_(on.node, on.templates, on.snapshots),
      sandbox_json_(tokens_, settings_),
      access_(on.access, tokens_),
      file_access_(access_, tokens_, on.session_service, on.worker),
      processes_(std::make_shared<ProcessRegistry>(
          ProcessRegistry::Dependencies{on.io, on.session_service, on.sessions, on.oom_kills})),
      watchers_(std::make_shared<Watchers>(on.io)),
      sandboxes_({on.authenticator, on.creation, on.registry, on.lifecycle, on.store, on.templates,
                  on.template_watcher, names_, sandbox_json_, settings_}),
      metrics_({on.authenticator, on.registry, on.sampler}),
      snapshots_({on.authenticator, on.creation, on.registry, on.session_snapshots, on.snapshots,
                  names_, sandbox_json_}),
      templates_(
          {on.authenticator, on.node, on.templates, on.template_watcher, on.snapshots, names_}),
      process_start_({access_, *processes_, on.processes, on.sessions, on.worker}),
      process_({access_, *processes_, on.inputs, on.worker}),
      filesystem_(access_),
      watch_({on.io, access_, *watchers_, on.is_stopping}),
      files_(file_access_),
      envd_({access_, on.sessions, on.sampler}),
      interpreter_({on.io, access_, on.contexts, on.sessions, on.worker}),
      envd_router_(make_envd_router(on.authenticator)) {}

EnvdRouter Dialect::make_envd_router(const routing::Authenticator& authenticator) {
  // No row has a configured limit of its body.
  constexpr std::size_t kNoConfiguredBody = 0;
  routing::RouteStyle with_token = e2b_style();
  with_token.admit = [this](const http::Request& request) {
    return access_.refuse(request, AccessToken::kRequired);
  };
  routing::RouteStyle with_code = e2b_style();
  with_code.admit = [this](const http::Request& request) {
    return access_.refuse_to_interpreter(request, InterpreterRoutes::token_for(request));
  };
  routing::RouteTable envd(authenticator, kNoConfiguredBody);
  envd.add(process_start_, ProcessStartRoutes::rows(), with_token);
  envd.add(process_, ProcessRoutes::rows(), with_token);
  envd.add(filesystem_, FilesystemRoutes::rows(), with_token);
  envd.add(watch_, WatchRoutes::rows(), with_token);
  envd.add(files_, FileRoutes::rows(), e2b_style());
  envd.add(envd_, EnvdRoutes::rows(), e2b_style());
  routing::RouteTable interpreter(authenticator, kNoConfiguredBody);
  interpreter.add(interpreter_, InterpreterRoutes::rows(), with_code);
  return EnvdRouter(std::move(envd).router(), std::move(interpreter).router());
}

void Dialect::add_routes(routing::RouteTable& table) {
  table.add(sandboxes_, SandboxRoutes::rows(), e2b_style());
  table.add(metrics_, SandboxMetricsRoutes::rows(), e2b_style());
  table.add(snapshots_, SnapshotRoutes::rows(), e2b_style());
  table.add(templates_, TemplateRoutes::rows(), e2b_style());
  table.add(hosted_, HostedRoutes::rows(), e2b_style());
}

void Dialect::append_info(std::vector<routing::RouteInfo>& all) {
  routing::append_info(all, SandboxRoutes::rows());
  routing::append_info(all, SandboxMetricsRoutes::rows());
  routing::append_info(all, SnapshotRoutes::rows());
  routing::append_info(all, TemplateRoutes::rows());
  routing::append_info(all, HostedRoutes::rows());
}

void Dialect::append_sandbox_info(std::vector<routing::RouteInfo>& all) {
  routing::append_info(all, ProcessStartRoutes::rows());
  routing::append_info(all, ProcessRoutes::rows());
  routing::append_info(all, FilesystemRoutes::rows());
  routing::append_info(all, WatchRoutes::rows());
  routing::append_info(all, FileRoutes::rows());
  routing::append_info(all, EnvdRoutes::rows());
  routing::append_info(all, InterpreterRoutes::rows());
}

std::optional<routing::PortTarget> Dialect::target_of(const http::Request& request) const {
  const std::string* id = request.headers.find(kIdHeader);
  const std::string* port = request.headers.find(kPortHeader);
  if (id == nullptr || port == nullptr) return std::nullopt;
  // A request with these headers is for a sandbox; a malformed id is one that does not exist.
  return routing::PortTarget{.id = routing::is_sandbox_label(*id) ? *id : "",
                             .port = routing::parse_port(*port).value_or(0)};
}

const http::Route* Dialect::find(http::Request& request, const routing::PortTarget& target) const {
  return envd_router_.find(request, target);
}

const http::Route* Dialect::find_untargeted(const http::Request& request) const {
  return envd_router_.find_signed(request);
}

std::string_view Dialect::port_token_of(const http::Request& request) const {
  return request.header(kTrafficTokenHeader);
}

std::vector<std::string_view> Dialect::key_prefixes() { return {"e2b_"}; }

std::vector<templates::ReservedName> Dialect::reserved_template_names() {
  return {reserved_template_name()};
}

std::span<const std::string_view> Dialect::private_headers() const { return kPrivateHeaders; }

bool Dialect::shows_access_token(const http::Request& request) const {
  return tokens_.is_valid(request.param("id"), request.header(kAccessTokenHeader));
}

}  // namespace glovebox::e2b
