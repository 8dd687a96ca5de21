#include "main/serve.h"

#include <sys/sysinfo.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <optional>

#include "api/network_events.h"
#include "api/server_api.h"
#include "base/log.h"
#include "base/parent_death.h"
#include "base/task.h"
#include "config/image_registries.h"
#include "config/load.h"
#include "config/network.h"
#include "config/value.h"
#include "confine/server_filter.h"
#include "confine/server_user.h"
#include "http/server/server.h"
#include "images/image_service.h"
#include "main/package_settings.h"
#include "main/server_resources.h"
#include "main/supervisor_link.h"
#include "net/reach.h"
#include "node/node.h"
#include "options/command_line.h"
#include "packages/builds/build_pipeline.h"
#include "packages/package_layer_service.h"
#include "store/key.h"
#include "store/server_secret.h"
#include "store/sqlite/sqlite_store.h"
#include "templates/project_templates.h"

namespace glovebox::server {
namespace {

using Clock = std::chrono::steady_clock;
using config::Settings;

// Time to write the responses after the runs have been ended.
constexpr std::chrono::milliseconds kForAnswers{1'000};

// What the supervisor passes besides the settings.
struct FromSupervisor {
  UniqueFd channel;
  pid_t end_with = 0;  // the supervisor of a private server, which must not outlive it
};

Result<int> parse_number(const char* option, const std::string& text, int least) {
  int number = -1;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size() || number < least) {
    return fail(Errc::kInvalidArgument,
                std::string(option) + " must be a number of at least " + std::to_string(least));
  }
  return number;
}

Result<FromSupervisor> parse_supervisor_options(const std::vector<std::string>& args) {
  FromSupervisor from_supervisor;
  const options::TakeValue control_fd = [&from_supervisor](const std::string& text) -> Result<> {
    TRY(const int fd, parse_number("--control-fd", text, 3));
    from_supervisor.channel.reset(fd);
    return {};
  };
  const options::TakeValue end_with = [&from_supervisor](const std::string& text) -> Result<> {
    TRY(from_supervisor.end_with, parse_number("--end-with", text, 1));
    return {};
  };
  const options::CommandLine command{
      .name = "glovebox-server serve",
      .usage = {"[OPTIONS]"},
      .groups = {{"Options",
                  {{"--control-fd", "N", "socket of the supervisor", control_fd},
                   {"--end-with", "PID", "end with this process", end_with}}}}};
  TRY_OK(options::parse(command, args));
  return from_supervisor;
}

// Guests rarely use their whole limits, so all limits together may reach the memory of the host.
std::uint64_t memory_of_host() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 8ull << 30;
  return static_cast<std::uint64_t>(info.totalram) * info.mem_unit;
}

node::GuestLink session_link_of(const std::string& setting) {
  if (setting == "frames") return node::GuestLink::kFrames;
  return setting == "byte-stream" ? node::GuestLink::kByteStream : node::GuestLink::kDescriptors;
}

node::NodeOptions node_options(const Settings& settings) {
  node::NodeOptions options;
  options.max_sandboxes = static_cast<std::uint32_t>(settings.max_sandboxes);
  options.max_memory_bytes = settings.max_memory != 0 ? settings.max_memory : memory_of_host();
  options.owner_share_percent = static_cast<std::uint32_t>(settings.project_share);
  options.max_waiting = static_cast<std::uint32_t>(settings.pool_max);
  options.waiting_project = store::kDefaultProject;
  options.max_pools = static_cast<std::uint32_t>(settings.max_pools);
  options.max_queue = static_cast<std::uint32_t>(settings.queue_length);
  options.queue_wait = settings.queue_wait;
  options.idle_decay = settings.pool_idle_decay;
  options.reuse_max_calls = static_cast<std::uint32_t>(settings.reuse_max_calls);
  options.reuse_max_age = settings.reuse_max_age;
  options.reuse_idle = settings.reuse_idle;
  options.host_sample = node::read_host_sample;
  options.session_link = session_link_of(settings.session_link);
  options.session_overcommit = static_cast<std::uint32_t>(settings.session_overcommit);
  return options;
}

sessions::SessionOptions session_options(const Settings& settings) {
  const auto whole_seconds = [](std::chrono::milliseconds time) {
    return static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(time).count());
  };
  sessions::SessionOptions options;
  options.max_sessions = settings.max_sessions;
  options.project_share_percent = settings.project_share;
  options.default_ttl_s = whole_seconds(settings.session_default_ttl);
  options.max_ttl_s = whole_seconds(settings.session_max_ttl);
  options.max_paused = settings.max_paused;
  options.paused_max = settings.paused_max;
  if (const Grade* floor = parse_grade(settings.min_grade)) options.min_grade = *floor;
  return options;
}

snapshots::SnapshotStoreOptions snapshot_options(const Settings& settings,
                                                 const std::string& store_dir) {
  snapshots::SnapshotStoreOptions options;
  options.directory = store_dir + "/snapshots";
  options.max_per_project = settings.max_snapshots;
  options.max_bytes = settings.snapshot_max;
  options.disk_ceiling = settings.disk_ceiling;
  return options;
}

images::ImageServiceOptions image_options(const Settings& settings, const std::string& store_dir,
                                          std::vector<config::ImageRegistry> registries) {
  images::ImageServiceOptions options;
  options.directory = store_dir + "/images";
  options.max_bytes = settings.image_max_size;
  options.disk_ceiling = settings.image_disk_ceiling;
  options.registries = std::move(registries);
  options.pull_timeout = settings.image_pull_timeout;
  return options;
}

store::StoreOptions store_options(const Settings& settings, const std::string& directory,
                                  asio::io_context& io) {
  store::StoreOptions options;
  options.directory = directory;
  options.post = [&io](std::function<void()> call) { asio::post(io, std::move(call)); };
  options.retention.max_age =
      std::chrono::duration_cast<std::chrono::seconds>(settings.retention_age);
  options.retention.max_runs = settings.retention_count;
  options.retention.max_run_bytes = settings.retention_bytes;
  options.retention.max_disk_bytes = settings.disk_ceiling;
  options.retention.max_project_bytes = settings.project_quota;
  options.kept_output_bytes = settings.keep_output;
  options.batch_interval = settings.batch_interval;
  return options;
}

http::OriginRules origin_rules(const Settings& settings, const http::Listener& listener) {
  http::OriginRules rules;
  rules.listen_addresses = {listener.address};
  if (!settings.domain.empty()) rules.domains = {settings.domain};
  rules.origins = settings.origins;
  rules.public_origin = settings.public_url;
  return rules;
}

http::ServerOptions http_options(const Settings& settings, const http::Listener& listener,
                                 api::ServerApi& api) {
  http::ServerOptions options;
  options.limits.max_header_bytes = settings.max_header;
  options.limits.header_time = settings.header_timeout;
  options.limits.body_time = settings.body_timeout;
  options.limits.body_stall_time = settings.body_stall_timeout;
  options.limits.write_time = settings.write_timeout;
  options.limits.idle_time = settings.idle_timeout;
  options.limits.max_connections = settings.max_connections;
  options.origins = origin_rules(settings, listener);
  // Every route has its own access rule; a route without one is refused.
  options.admit = [](http::Request&) {
    return http::Response::refuse(403, "policy", "this path has no access rule");
  };
  options.route_first = [&api](http::Request& request) { return api.route_first(request); };
  options.owner_of = [&api](const http::Request& request) { return api.owner_of(request); };
  options.on_exchange = [&api](const http::Exchange& exchange) { api.log_exchange(exchange); };
  return options;
}

mcp::Settings mcp_settings(const Settings& settings) {
  mcp::Settings out;
  const auto ttl = std::min(settings.mcp_ttl, settings.session_max_ttl);
  out.template_name = settings.mcp_template;
  out.ttl_s =
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(ttl).count());
  out.timeout = std::min(settings.mcp_timeout, ttl);  // else a sandbox could end during a call
  out.idle = std::chrono::duration_cast<std::chrono::seconds>(settings.mcp_idle);
  out.conversations = settings.mcp_conversations;
  out.max_output = settings.mcp_max_output;
  out.cpu_thousandths = config::parse_cpu_quota(settings.mcp_cpus);
  if (settings.mcp_memory != 0) out.memory_bytes = settings.mcp_memory;
  if (settings.mcp_disk != 0) out.disk_bytes = settings.mcp_disk;
  return out;
}

api::ApiSettings api_settings(const Settings& settings, const config::SettingTable& table,
                              const http::Listener& listener) {
  api::ApiSettings out;
  out.is_loopback = listener.is_loopback;
  if (const Grade* floor = parse_grade(settings.min_grade)) out.min_grade = *floor;
  out.log_requests = settings.log_requests;
  out.version = GBX_VERSION;
  out.domain = settings.domain;
  out.max_body = settings.max_body;
  out.max_held_output = memory_of_host() / 8;
  out.workspace.cpu_thousandths = config::parse_cpu_quota(settings.workspace_cpu_quota);
  if (settings.workspace_memory_limit != 0) {
    out.workspace.memory_bytes = settings.workspace_memory_limit * 1024;
  }
  out.workspace.allow_network = settings.workspace_allow_network;
  out.workspace.timeout = std::chrono::seconds(settings.workspace_timeout_seconds);
  out.workspace.pool_size = static_cast<std::uint32_t>(settings.workspace_pool_size);
  out.mcp = mcp_settings(settings);
  out.origins = origin_rules(settings, listener);
  out.console.session_ttl =
      std::chrono::duration_cast<std::chrono::seconds>(settings.console_session_ttl);
  out.console.keeps_code = settings.keep_code;
  out.table = table;
  return out;
}

// Creates the first admin key, or another one if an interrupted start left the key file empty.
Result<> provide_admin_key(store::Store& store, asio::io_context& io, UniqueFd file) {
  TRY(std::optional<std::string> secret, store.ensure_admin_key());
  if (!secret && file && is_empty_file(file)) {
    std::optional<Result<store::CreatedKey>> made;
    store.create_key({.name = "admin", .role = store::KeyRole::kAdmin},
                     [&](Result<store::CreatedKey> key) { made = std::move(key); });
    const auto work = asio::make_work_guard(io);
    while (!made) io.run_one();
    if (!*made) return fail(std::move(made->error()));
    secret = (*made)->secret;
  }
  if (!secret) return {};
  if (!file) {
    return fail(
        Errc::kNotFound,
        "there is no admin key and no admin.key file to write a new one to; create an empty "
        "admin.key (mode 0600) in the data directory and start again");
  }
  return write_admin_key(file, *secret);
}

// What a stop ends, in this order.
struct Running {
  asio::io_context& io;
  node::Node& node;
  sessions::SessionServices& sessions;
  packages::PackageLayerService& packages;
  events::EventHub& events;
  api::ServerApi& api;
  http::Server& server;
  SupervisorLink& link;
};

// Refuses new requests and lets running ones finish within the time limit.
asio::awaitable<void> stop_gracefully(Running running, std::chrono::milliseconds limit) {
  const auto deadline = Clock::now() + limit;
  log::info("stopping", {{"runs", std::to_string(running.node.figures().runs_active)}});
  running.api.stop();
  running.server.stop_accepting();
  running.events.close();
  running.packages.stop();
  co_await running.node.drain(deadline - std::min(kForAnswers, limit / 2));
  co_await running.server.drained(deadline);
  running.sessions.stop();
  running.link.stop();
  running.io.stop();
}

asio::awaitable<void> wait_for_stop(asio::signal_set& signals, Running running,
                                    std::chrono::milliseconds limit) {
  const auto [ec, number] = co_await signals.async_wait(kAwaitTuple);
  if (ec) co_return;
  co_await stop_gracefully(running, limit);
}

Result<> serve(const config::LoadedSettings& loaded, FromSupervisor from_supervisor) {
  const Settings& settings = loaded.settings;
  TRY(const confine::ServerIds ids, confine::find_server_user(settings.user, settings.uid));
  TRY(ServerResources resources, open_server_resources(settings, ids));
  PackageSettings package_settings = read_package_settings(settings);
  std::vector<config::ImageRegistry> registries = config::read_image_registries(settings);
  asio::io_context io{1};
  asio::signal_set signals(io, SIGTERM, SIGINT);
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGHUP, SIG_IGN);  // meant for the launcher, which reloads templates

  // Before privileges are dropped: the link remembers the user who started the server.
  std::unique_ptr<node::Node> node;
  std::unique_ptr<packages::PackageLayerService> packages;
  SupervisorLink link(io, resources.url,
                      {.arrives =
                           [&](UniqueFd socket) {
                             node->attach_launcher(std::move(socket));
                             packages->launcher_attached();
                           },
                       .is_there = [&] { return node->figures().launcher_up; }},
                      {.arrives = [&](UniqueFd socket) { node->attach_gateway(std::move(socket)); },
                       .is_there = [&] { return node->networks().gateway_up(); }});

  TRY_OK(confine::become_server_user(ids));
  if (from_supervisor.end_with != 0) TRY_OK(end_with_parent(from_supervisor.end_with));
  TRY_OK(confine::install_server_filter());
  // From here on the process has no privileges, and the filter is installed.

  TRY(auto store, store::SqliteStore::open(store_options(settings, resources.store_dir, io)));
  TRY_OK(provide_admin_key(*store, io, std::move(resources.admin_key)));
  node = std::make_unique<node::Node>(io, node_options(settings));
  templates::ProjectTemplates templates(*node, node->dynamic_templates(), *store,
                                        api::ServerApi::reserved_template_names());
  TRY_OK(templates.load());
  snapshots::SnapshotStore snapshots(io, *store, snapshot_options(settings, resources.store_dir));
  TRY_OK(snapshots.load());
  store::KeyUsage usage;
  events::EventHub events(io.get_executor());
  TRY(const net::NetCeiling ceiling, config::net_ceiling(settings));

  const std::unique_ptr<packages::BuildPipeline> pipeline =
      packages::make_build_pipeline({io, node->sessions(), node->layers(), &node->networks()},
                                    std::move(package_settings.building));
  const packages::PackageServiceDependencies package_dependencies{
      io, *node, node->sessions(), node->dynamic_templates(), node->layers(), *pipeline, events};
  // Templates and snapshots with packages pin their layer, even if they were not used since the
  // last start.
  package_settings.service.pinned_by = [&templates, &snapshots](const std::string& layer) {
    if (const auto* made = templates.of_layer(layer)) return "template " + made->name;
    if (const auto* made = snapshots.of_layer(layer)) return "snapshot " + made->id.str();
    return std::string();
  };
  packages = std::make_unique<packages::PackageLayerService>(package_dependencies,
                                                             std::move(package_settings.service));
  packages->begin();

  images::ImageServiceOptions of_images =
      image_options(settings, resources.store_dir, std::move(registries));
  of_images.kept_for = [&templates, &snapshots](const std::string& id, const std::string& project) {
    if (const auto* made = templates.of_image(id)) {
      return made->project == project ? "template " + made->name : "another project's template";
    }
    if (const auto* made = snapshots.of_image(id)) {
      return made->project == project ? "snapshot " + made->id.str() : "another project's snapshot";
    }
    return std::string();
  };
  images::ImageService images({io, node->sessions(), node->layers(), *packages},
                              std::move(of_images));

  sessions::SessionOptions options = session_options(settings);
  options.ceiling = ceiling;
  const sessions::SessionServicesDependencies session_dependencies{
      io, node->sessions(), *node, node->networks(), *store, usage, events, templates, snapshots};
  sessions::SessionServices sessions(session_dependencies, std::move(options));
  api::publish_network_events(node->networks(), events, sessions.registry);
  TRY_OK(sessions.start());

  api::ApiSettings api_options = api_settings(settings, loaded.table, resources.listener);
  TRY(api_options.secret, store::server_secret(resources.store_dir));
  api_options.ceiling = ceiling;
  // Kept there by attack::keep_report().
  api_options.attack_report = resources.store_dir + "/attack-report.json";
  api_options.workspace.reach = net::all_allowed(ceiling);
  if (api_options.workspace.reach.is_none()) api_options.workspace.allow_network = false;
  node->set_session_pools("workspace", workspace::waiting_sessions(api_options.workspace));
  const api::ServerApi::Dependencies api_dependencies{
      io,        *node,     node->sessions(), *store, usage,    events,
      templates, snapshots, *packages,        images, sessions, sessions.registry};
  api::ServerApi api(api_dependencies, std::move(api_options));
  http::Server server(io, api.make_router(), http_options(settings, resources.listener, api));
  api.http_figures = [&server] { return server.figures(); };
  api.doctor_report = [&link] { return link.doctor_report(); };
  TRY_OK(server.serve(std::move(resources.listener.fd), resources.tls));
  // A private server has only one supervisor.
  if (from_supervisor.end_with != 0) resources.control_socket.reset();
  link.start(std::move(from_supervisor.channel), std::move(resources.control_socket));
  api.start();
  const Running running{io, *node, sessions, *packages, events, api, server, link};
  asio::co_spawn(io, wait_for_stop(signals, running, settings.stop_timeout), asio::detached);
  link.say_ready();
  log::info("serving", {{"url", resources.url}});
  io.restart();
  io.run();
  log::info("stopped");
  return {};
}

}  // namespace

int serve_command(const std::vector<std::string>& args) {
  const auto complain = [](const Error& error) {
    std::fprintf(stderr, "glovebox-server: %s\n", error.message().c_str());
    return 1;
  };
  auto loaded = config::load(args, config::ProcessEnvironment::current());
  if (!loaded) return complain(loaded.error());
  auto from_supervisor = parse_supervisor_options(loaded->rest);
  if (!from_supervisor) return complain(from_supervisor.error());
  if (auto served = serve(*loaded, std::move(*from_supervisor)); !served) {
    return complain(served.error());
  }
  return 0;
}

}  // namespace glovebox::server
