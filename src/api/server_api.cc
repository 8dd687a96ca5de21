#include "api/server_api.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <cstdio>

#include "base/log.h"
#include "signin/session_cookie.h"

namespace glovebox::api {
namespace {

// Headers that are never passed to a guest: our own tokens and those of the dialects.
std::vector<std::string_view> private_headers(const routing::PortDialect& dialect) {
  std::vector<std::string_view> names{routing::kPortTokenHeader};
  const auto more = dialect.private_headers();
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

routing::KeyForms key_forms() { return routing::KeyForms(e2b::Dialect::key_prefixes()); }

// Never passed to a guest either: those of its ports, and the console's, should a browser send it.
std::vector<std::string> private_cookies(const ApiSettings& settings) {
  std::vector<std::string> names = routing::PortLinks::cookie_names();
  names.push_back(signin::cookie_name(true, settings.secret));
  names.push_back(signin::cookie_name(false, settings.secret));
  return names;
}

e2b::Settings e2b_settings(const ApiSettings& settings) {
  return {.secret = settings.secret,
          .domain = settings.domain,
          .is_loopback = settings.is_loopback,
          .ceiling = settings.ceiling};
}

}  // namespace

ServerApi::ServerApi(const Dependencies& on, ApiSettings settings_)
    : io_(on.io),
      settings(std::move(settings_)),
      memory_budget(settings.max_held_output),
      browsers(on.store, settings.origins, settings.secret),
      authenticator(on.store, browsers, key_forms(), settings.is_loopback),
      watcher(on.io, on.node, on.templates, on.events),
      preparation(on.io, on.packages, on.templates, on.snapshots),
      oom_kills(on.session_service),
      inputs(on.io),
      contexts(on.io, on.sessions, oom_kills),
      processes(on.io, on.sessions, oom_kills, memory_budget),
      responses(worker, memory_budget),
      lookup(authenticator, on.sessions),
      access(on.sessions, on.session_services.lifecycle),
      creation({on.session_services.creator, on.session_services.registry, on.templates, watcher,
                preparation, on.images, on.usage, metrics}),
      execs({on.sessions, processes, oom_kills, memory_budget, responses}),
      template_requests(
          {authenticator, on.node, on.templates, on.snapshots, watcher, preparation, on.images}),
      planner(on.node, on.templates,
              {.engine = settings.engine,
               .min_grade = settings.min_grade,
               .ceiling = settings.ceiling,
               .keeps_code = settings.console.keeps_code}),
      run_log(on.store, on.events, metrics),
      run_flow({on.node, preparation, run_log, metrics, on.store, on.usage, memory_budget, worker}),
      e2b({on.io,
           on.node,
           on.session_service,
           on.store,
           on.templates,
           watcher,
           on.snapshots,
           on.sessions,
           on.session_services.registry,
           on.session_services.lifecycle,
           on.session_services.snapshots,
           on.session_services.sampler,
           processes,
           oom_kills,
           inputs,
           contexts,
           authenticator,
           access,
           creation,
           worker,
           is_stopping},
          e2b_settings(settings)),
      workspace(
          {authenticator, creation, execs, responses, worker, on.sessions,
           on.session_services.registry, on.session_services.lifecycle, contexts, memory_budget},
          settings.workspace),
      sessions_api({on.io, on.store, authenticator, creation, template_requests, responses, worker,
                    run_log, on.sessions, on.session_services.registry,
                    on.session_services.lifecycle, contexts, memory_budget}),
      mcp({on.io, on.node, authenticator, creation, responses, worker, on.sessions,
           on.session_services.registry, on.session_services.lifecycle, contexts, processes,
           oom_kills, on.session_services.networks, watcher, memory_budget},
          settings.mcp, settings.version),
      overview_sampler(on.io, on.node, on.session_services.registry, metrics.activity),
      port_proxy(private_headers(e2b), key_forms(), private_cookies(settings)),
      port_links(settings.secret, !settings.origins.public_origin.empty()),
      port_routing(access, port_proxy, port_links, {&e2b}),
      run_routes_(
          {authenticator, watcher, planner, run_flow, on.images, on.templates, bundles, worker}),
      batch_routes_({on.io, run_routes_, run_flow, memory_budget, authenticator, worker}),
      bundle_routes_({authenticator, bundles, worker}),
      function_routes_(
          {authenticator, watcher, planner, run_flow, on.images, on.templates, worker}),
      run_record_routes_({authenticator, on.store}),
      sandbox_routes_({authenticator, creation, on.store, on.session_services.registry,
                       on.session_services.lifecycle, responses, worker}),
      sandbox_metrics_routes_({authenticator, on.session_services.registry,
                               on.session_services.sampler, on.session_services.networks}),
      snapshot_routes_({authenticator, on.session_services.snapshots, on.snapshots, on.templates}),
      exec_routes_({lookup, processes, execs, worker}),
      exec_stream_routes_(
          {on.io, authenticator, lookup, on.sessions, inputs, processes, oom_kills, is_stopping}),
      process_routes_({lookup, inputs}),
      context_routes_({lookup, contexts}),
      code_routes_({lookup, contexts, memory_budget, responses, worker}),
      file_routes_({lookup}),
      file_tree_routes_({lookup}),
      file_watch_routes_({on.io, authenticator, lookup, is_stopping}),
      port_routes_({lookup, access, port_proxy, port_links}),
      port_link_routes_({lookup, access, port_links, settings.origins, settings.domain}),
      template_routes_({authenticator, on.node, on.templates, template_requests}),
      layer_routes_({authenticator, on.node, on.templates, on.packages, preparation, watcher,
                     on.usage, metrics, responses, worker}),
      image_routes_({authenticator, on.images, on.usage, metrics, responses, worker}),
      engine_routes_({authenticator, on.node, settings.engine, settings.min_grade}),
      event_routes_({authenticator, on.events}),
      key_routes_({on.store}),
      operations_routes_({settings.version, on.node, on.session_service, on.store, metrics,
                          on.events, on.session_services.registry, on.snapshots, on.packages,
                          http_figures, is_stopping}),
      docs_routes_({settings.version}),
      setting_routes_({settings.table}),
      host_report_routes_({doctor_report, settings.attack_report}),
      overview_routes_(
          {authenticator, on.node, on.session_services.registry, metrics.activity, on.events}),
      live_routes_({on.io, authenticator, on.events, metrics.activity, overview_sampler}),
      console_session_routes_({authenticator, browsers, sign_in_attempts, on.store,
                               settings.console, settings.version, settings.domain}),
      console_asset_routes_(console_bundle()) {}

std::vector<templates::ReservedName> ServerApi::reserved_template_names() {
  return e2b::Dialect::reserved_template_names();
}

http::Router ServerApi::make_router() {
  routing::RouteTable table(authenticator, settings.max_body);
  // The console's pages use the API as every client does, so its cookie counts for all of /v1, but
  // for the paths at which guests answer.
  const routing::RouteStyle for_console{.cookies = routing::Cookies::kAccepted};
  const auto add = [&](auto&... routes) {
    (table.add(routes, std::remove_reference_t<decltype(routes)>::rows(), for_console), ...);
  };
  const auto add_without_cookies = [&table](auto&... routes) {
    (table.add(routes, std::remove_reference_t<decltype(routes)>::rows()), ...);
  };
  add(run_routes_, batch_routes_, bundle_routes_, function_routes_, run_record_routes_,
      sandbox_routes_, sandbox_metrics_routes_, snapshot_routes_, exec_routes_, exec_stream_routes_,
      process_routes_, context_routes_, code_routes_, file_routes_, file_tree_routes_,
      file_watch_routes_, port_link_routes_, template_routes_, layer_routes_, image_routes_,
      engine_routes_, event_routes_, key_routes_, setting_routes_, host_report_routes_,
      overview_routes_, live_routes_, console_session_routes_);
  add_without_cookies(port_routes_, operations_routes_, docs_routes_, console_asset_routes_);
  table.add(port_routes_, PortRoutes::page_rows(), {.cors = http::Cors::kAny});
  e2b.add_routes(table);
  workspace.add_routes(table);
  sessions_api.add_routes(table);
  mcp.add_routes(table);
  return std::move(table).router();
}

http::RequestOwner ServerApi::owner_of(const http::Request& request) const {
  using Kind = http::RequestOwner::Kind;
  if (const auto who = authenticator.principal_of(request)) return {Kind::kProject, who->project};
  // Without a key, a request names a sandbox only to reach its ports.
  const std::string_view id = request.param("id");
  std::string project = id.empty() ? std::string() : access.project_of(id);
  if (project.empty()) return {};
  return {e2b.shows_access_token(request) ? Kind::kProject : Kind::kVisitor, std::move(project)};
}

void ServerApi::log_exchange(const http::Exchange& exchange) {
  metrics.count_answer(exchange.status);
  if (!settings.log_requests) return;
  const http::Request& request = exchange.request;
  const auto who = authenticator.principal_of(request);
  char ms[32];
  std::snprintf(ms, sizeof ms, "%.3f", static_cast<double>(exchange.took.count()) / 1000.0);
  log::info("request", {{"request", request.id},
                        {"method", std::string(http::method_name(request.method))},
                        {"route", request.route.empty() ? "-" : request.route},
                        {"status", std::to_string(exchange.status)},
                        {"ms", ms},
                        {"key", who ? who->key.str() : "-"},
                        {"gone", exchange.client_gone ? "yes" : "no"}});
}

void ServerApi::start() {
  e2b.start();
  overview_sampler.start();
  asio::co_spawn(io_, watcher.watch(), asio::detached);
}

void ServerApi::stop() {
  is_stopping = true;
  overview_sampler.stop();
  watcher.stop();
}

}  // namespace glovebox::api
