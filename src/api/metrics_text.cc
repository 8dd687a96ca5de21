#include "api/metrics_text.h"

#include <cstdio>

#include "model/template_text.h"

namespace glovebox::api {
namespace {

using std::to_string;

std::string seconds_text(std::int64_t us) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6g", static_cast<double>(us) / 1e6);
  return text;
}

// The text format of Prometheus, version 0.0.4: a HELP and a TYPE line, then the series.
class Writer {
 public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    out += "# HELP ";
    out += name;
    out += ' ';
    out += help;
    out += "\n# TYPE ";
    out += name;
    out += ' ';
    out += type;
    out += '\n';
  }
  void series(std::string_view labels, std::uint64_t value) {
    out += name_;
    if (!labels.empty()) {
      out += '{';
      out += labels;
      out += '}';
    }
    out += ' ' + to_string(value) + '\n';
  }
  void one(std::string_view name, std::string_view type, std::string_view help,
           std::uint64_t value) {
    begin(name, type, help);
    series("", value);
  }

  std::string out;

 private:
  std::string_view name_;
};

std::string label(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

std::string_view phase_label(std::size_t phase) {
  static constexpr std::string_view kNames[] = {"queue", "setup", "run", "total"};
  return kNames[phase];
}

void write_pools(Writer& writer, const node::NodeFigures& node) {
  const auto each = [&](std::string_view name, std::string_view type, std::string_view help,
                        auto figure) {
    writer.begin(name, type, help);
    for (const node::PoolFigures& pool : node.pools) {
      writer.series(label("template", pool.template_name) + "," +
                        label("engine", engine_name(pool.engine)) +
                        (pool.is_of_sessions ? "," + label("of", "sessions") : ""),
                    figure(pool));
    }
  };
  using Pool = node::PoolFigures;
  each("glovebox_pool_idle", "gauge", "Unused sandboxes that are ready.",
       [](const Pool& pool) { return pool.idle; });
  each("glovebox_pool_making", "gauge", "Sandboxes that are being created for the pool.",
       [](const Pool& pool) { return pool.making; });
  each("glovebox_pool_target", "gauge", "Sandboxes that should be ready.",
       [](const Pool& pool) { return pool.target; });
  each("glovebox_pool_hits_total", "counter", "Requests that found a ready sandbox.",
       [](const Pool& pool) { return pool.hits; });
  each("glovebox_pool_misses_total", "counter", "Requests that found no ready sandbox.",
       [](const Pool& pool) { return pool.misses; });
}

void write_host(Writer& writer, const node::HostFigures& host) {
  writer.one("glovebox_host_memory_bytes", "gauge",
             "Memory of all sandboxes together, without page cache.", host.memory_bytes);
  writer.one("glovebox_host_memory_limit_bytes", "gauge",
             "Memory that all sandboxes may use together; 0: no limit.", host.memory_limit_bytes);
  writer.one("glovebox_host_socket_bytes", "gauge",
             "Of the memory of all sandboxes: buffers of sockets.", host.socket_bytes);
  writer.one("glovebox_host_processes", "gauge", "Processes and threads of all sandboxes together.",
             host.pids);
  writer.one("glovebox_host_processes_limit", "gauge",
             "Processes that all sandboxes may have together; 0: no limit.", host.pids_limit);
  writer.one("glovebox_host_full", "gauge", "1 while no new sandbox is admitted.",
             host.full_reason.empty() ? 0 : 1);
}

void write_node(Writer& writer, const node::NodeFigures& node) {
  write_pools(writer, node);
  writer.one("glovebox_sandboxes_alive", "gauge", "Sandboxes ready, being created or in use.",
             node.sandboxes_alive);
  writer.one("glovebox_runs_active", "gauge", "Runs that have a sandbox.", node.runs_active);
  writer.one("glovebox_runs_queued", "gauge", "Runs that wait for a sandbox.", node.queued);
  writer.one("glovebox_zygotes_alive", "gauge", "Interpreters that sandboxes are forked from.",
             node.zygotes);
  writer.one("glovebox_memory_committed_bytes", "gauge", "Sum of the sandboxes' memory limits.",
             node.memory_committed_bytes);
  write_host(writer, node.host);
  writer.one("glovebox_launcher_up", "gauge", "1 when a launcher is connected.",
             node.launcher_up ? 1 : 0);
  writer.one("glovebox_launcher_losses_total", "counter", "How often the launcher was lost.",
             node.launcher_losses);
}

void write_network(Writer& writer, const node::NetworkTotals& network) {
  writer.one("glovebox_gateway_up", "gauge", "1 when a network gateway is connected.",
             network.gateway_up ? 1 : 0);
  writer.one("glovebox_gateway_losses_total", "counter", "How often the network gateway was lost.",
             network.gateway_losses);
  writer.one("glovebox_networks", "gauge", "Sandboxes that have a network.", network.networks);
  writer.begin("glovebox_network_decisions_total", "counter",
               "Connections that were allowed; connections and names that were denied.");
  writer.series(label("verdict", "allowed"), network.connections);
  writer.series(label("verdict", "denied"), network.denied);
  writer.begin("glovebox_network_bytes_total", "counter", "Bytes of sandboxes' connections.");
  writer.series(label("direction", "out"), network.bytes_out);
  writer.series(label("direction", "in"), network.bytes_in);
}

void write_templates(Writer& writer, const std::vector<TemplateStatus>& templates) {
  writer.begin("glovebox_template_state", "gauge", "1 for the state a template's runtime is in.");
  for (const TemplateStatus& status : templates) {
    writer.series(
        label("template", status.description.name) + "," + label("state", state_name(status.state)),
        1);
  }
  writer.begin("glovebox_template_forks_total", "counter", "Forks by a template's zygotes.");
  for (const TemplateStatus& status : templates) {
    writer.series(label("template", status.description.name), status.forks);
  }
}

void write_store(Writer& writer, const store::Health& store) {
  writer.one("glovebox_store_ok", "gauge", "1 when the store can write.", store.ok ? 1 : 0);
  writer.one("glovebox_store_queued", "gauge", "Run records that wait to be written.",
             store.queued);
  writer.one("glovebox_store_written_total", "counter", "Run records written.", store.written);
  writer.one("glovebox_store_dropped_total", "counter", "Run records lost to a full queue.",
             store.dropped);
  writer.one("glovebox_store_bytes", "gauge", "Bytes of the store on disk.", store.bytes_used);
  writer.one("glovebox_store_runs", "gauge", "Run records on disk.", store.runs);
}

void write_http(Writer& writer, const http::ServerFigures& http) {
  writer.one("glovebox_http_connections", "gauge", "Open connections.", http.connections);
  writer.one("glovebox_http_connections_idle", "gauge", "Open connections without a request.",
             http.idle_connections);
  writer.one("glovebox_http_requests_in_progress", "gauge", "Requests being answered.",
             http.requests_in_progress);
  writer.one("glovebox_http_requests_total", "counter", "Requests received.", http.requests_total);
  writer.one("glovebox_http_connections_refused_total", "counter",
             "Connections closed because there were too many.", http.connections_refused_total);
}

void write_histogram(std::string& out, std::string_view name, std::string_view labels,
                     const runs::Histogram& histogram) {
  const auto& bounds = runs::Histogram::kBounds;
  const std::string base(name);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.buckets().size(); ++i) {
    below += histogram.buckets()[i];
    const std::string bound = i < bounds.size() ? seconds_text(bounds[i]) : "+Inf";
    out += base + "_bucket{" + std::string(labels) + ",le=\"" + bound + "\"} " + to_string(below) +
           '\n';
  }
  out += base + "_sum{" + std::string(labels) + "} " + seconds_text(histogram.sum_us()) + '\n';
  out += base + "_count{" + std::string(labels) + "} " + to_string(histogram.count()) + '\n';
}

void write_sessions(Writer& writer, const sessions::SessionFigures& sessions) {
  writer.begin("glovebox_sessions", "gauge", "Persistent sandboxes, by state.");
  writer.series(label("state", "pending"), sessions.pending);
  writer.series(label("state", "starting"), sessions.starting);
  writer.series(label("state", "running"), sessions.running);
  writer.series(label("state", "paused"), sessions.paused);
  writer.one("glovebox_sessions_created_total", "counter", "Persistent sandboxes created.",
             sessions.created);
  writer.one("glovebox_sessions_refused_total", "counter", "Persistent sandboxes refused.",
             sessions.refused);
  writer.begin("glovebox_sessions_ended_total", "counter", "Persistent sandboxes ended, by cause.");
  for (std::size_t i = 0; i < sessions.ended.size(); ++i) {
    writer.series(label("cause", sessions::kEndCauseNames[i]), sessions.ended[i]);
  }
}

void write_snapshots(Writer& writer, std::uint64_t count, std::uint64_t bytes) {
  writer.one("glovebox_snapshots", "gauge", "Snapshots that are kept.", count);
  writer.one("glovebox_snapshot_bytes", "gauge", "Bytes of snapshots on disk.", bytes);
}

void write_packages(Writer& writer, const packages::PackageFigures& figures) {
  writer.begin("glovebox_builds_total", "counter", "Builds of packages, by how they ended.");
  writer.series(label("result", "built"), figures.built);
  writer.series(label("result", "reused"), figures.reused);
  writer.series(label("result", "failed"), figures.failed);
  writer.series(label("result", "cancelled"), figures.cancelled);
  writer.one("glovebox_builds_active", "gauge", "Builds that have a sandbox.", figures.building);
  writer.one("glovebox_builds_queued", "gauge", "Builds waiting for other builds.", figures.queued);
  writer.one("glovebox_layers", "gauge", "Layers of packages that are kept.", figures.layers);
  writer.one("glovebox_layer_bytes", "gauge", "Bytes of layers on disk.", figures.layer_bytes);
  writer.one("glovebox_layers_corrupt_total", "counter", "Layers that were found corrupt.",
             figures.corrupt);
  writer.one("glovebox_set_templates", "gauge", "Templates of package sets.", figures.templates);
}

}  // namespace

std::string metrics_text(const runs::Metrics& metrics, const ServerFigures& figures) {
  Writer writer;
  writer.begin("glovebox_runs_total", "counter", "Runs by how they ended.");
  for (std::size_t i = 1; i < metrics.runs.size(); ++i) {
    writer.series(label("outcome", store::run_status_name(static_cast<store::RunStatus>(i))),
                  metrics.runs[i]);
  }
  writer.begin("glovebox_runs_started_total", "counter", "Runs by start of their interpreter.");
  writer.series(label("start", "warm"), metrics.warm_runs);
  writer.series(label("start", "cold"), metrics.cold_runs);
  writer.begin("glovebox_run_seconds", "histogram", "Time of a run by phase.");
  for (std::size_t i = 0; i < metrics.phases.size(); ++i) {
    write_histogram(writer.out, "glovebox_run_seconds", label("phase", phase_label(i)),
                    metrics.phases[i]);
  }
  writer.begin("glovebox_refusals_total", "counter", "Runs that were refused, by error code.");
  for (const auto& [code, count] : metrics.refusals) writer.series(label("code", code), count);
  write_node(writer, figures.node);
  write_network(writer, figures.node.network);
  write_sessions(writer, figures.sessions);
  write_snapshots(writer, figures.snapshots, figures.snapshot_bytes);
  write_packages(writer, figures.packages);
  write_templates(writer, figures.templates);
  write_store(writer, figures.store);
  writer.begin("glovebox_http_answers_total", "counter", "Answers by class of status.");
  for (const auto& [kind, count] : metrics.answers) {
    writer.series(label("class", to_string(kind) + "xx"), count);
  }
  write_http(writer, figures.http);
  writer.one("glovebox_event_subscribers", "gauge", "Open streams of /v1/events.",
             figures.event_subscribers);
  return std::move(writer.out);
}

}  // namespace glovebox::api
