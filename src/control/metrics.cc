#include "control/metrics.h"

#include <algorithm>
#include <cstdio>

#include "control/words.h"

namespace glovebox::control {
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
      writer.series(
          label("template", pool.template_name) + "," + label("engine", engine_name(pool.engine)),
          figure(pool));
    }
  };
  using Pool = node::PoolFigures;
  each("glovebox_pool_idle", "gauge", "Never-used sandboxes that wait.",
       [](const Pool& pool) { return pool.idle; });
  each("glovebox_pool_making", "gauge", "Sandboxes that are being made for the pool.",
       [](const Pool& pool) { return pool.making; });
  each("glovebox_pool_target", "gauge", "Sandboxes that should wait.",
       [](const Pool& pool) { return pool.target; });
  each("glovebox_pool_hits_total", "counter", "Takes that found a sandbox waiting.",
       [](const Pool& pool) { return pool.hits; });
  each("glovebox_pool_misses_total", "counter", "Takes that found none.",
       [](const Pool& pool) { return pool.misses; });
}

void write_node(Writer& writer, const node::NodeFigures& node) {
  write_pools(writer, node);
  writer.one("glovebox_sandboxes_alive", "gauge", "Sandboxes waiting, being made and in use.",
             node.sandboxes_alive);
  writer.one("glovebox_runs_active", "gauge", "Runs that have a sandbox.", node.runs_active);
  writer.one("glovebox_runs_queued", "gauge", "Runs that wait for a sandbox.", node.queued);
  writer.one("glovebox_zygotes_alive", "gauge", "Interpreters that sandboxes are forked from.",
             node.zygotes);
  writer.one("glovebox_memory_committed_bytes", "gauge", "What the sandboxes may use at most.",
             node.memory_committed_bytes);
  writer.one("glovebox_launcher_up", "gauge", "1 when there is a launcher.",
             node.launcher_up ? 1 : 0);
  writer.one("glovebox_launcher_losses_total", "counter", "How often the launcher went away.",
             node.launcher_losses);
}

void write_network(Writer& writer, const node::NetworkTotals& network) {
  writer.one("glovebox_gateway_up", "gauge", "1 when there is a network gateway.",
             network.gateway_up ? 1 : 0);
  writer.one("glovebox_gateway_losses_total", "counter", "How often the network gateway went away.",
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
  writer.one("glovebox_store_bytes", "gauge", "What the store takes on disk.", store.bytes_used);
  writer.one("glovebox_store_runs", "gauge", "Run records on disk.", store.runs);
}

void write_http(Writer& writer, const http::ServerFigures& http) {
  writer.one("glovebox_http_connections", "gauge", "Open connections.", http.connections);
  writer.one("glovebox_http_connections_idle", "gauge", "Of them without a request.",
             http.idle_connections);
  writer.one("glovebox_http_requests_in_progress", "gauge", "Requests being answered.",
             http.requests_in_progress);
  writer.one("glovebox_http_requests_total", "counter", "Requests received.", http.requests_total);
  writer.one("glovebox_http_connections_refused_total", "counter",
             "Connections closed because there were too many.", http.connections_refused_total);
}

}  // namespace

void Histogram::add(std::chrono::microseconds time) {
  const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), time.count());
  ++buckets_[static_cast<std::size_t>(bucket - kBounds.begin())];
  ++count_;
  sum_us_ += time.count();
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  const std::string base(name);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i];
    const std::string bound = i < kBounds.size() ? seconds_text(kBounds[i]) : "+Inf";
    out += base + "_bucket{" + std::string(labels) + ",le=\"" + bound + "\"} " + to_string(below) +
           '\n';
  }
  out += base + "_sum{" + std::string(labels) + "} " + seconds_text(sum_us_) + '\n';
  out += base + "_count{" + std::string(labels) + "} " + to_string(count_) + '\n';
}

namespace {

void write_sessions(Writer& writer, const SessionFigures& sessions) {
  writer.begin("glovebox_sessions", "gauge", "Sandboxes that live on, by state.");
  writer.series(label("state", "pending"), sessions.pending);
  writer.series(label("state", "starting"), sessions.starting);
  writer.series(label("state", "running"), sessions.running);
  writer.series(label("state", "paused"), sessions.paused);
  writer.one("glovebox_sessions_created_total", "counter", "Sandboxes made to live on.",
             sessions.created);
  writer.one("glovebox_sessions_refused_total", "counter", "Those that could not be made.",
             sessions.refused);
  writer.begin("glovebox_sessions_ended_total", "counter", "Their ends, by cause.");
  for (std::size_t i = 0; i < sessions.ended.size(); ++i) {
    writer.series(label("cause", kEndCauseNames[i]), sessions.ended[i]);
  }
  writer.one("glovebox_snapshots", "gauge", "Snapshots that are kept.", sessions.snapshots);
  writer.one("glovebox_snapshot_bytes", "gauge", "What they have on disk.",
             sessions.snapshot_bytes);
}

void write_dependencies(Writer& writer, const DependencyFigures& figures) {
  writer.begin("glovebox_builds_total", "counter", "Builds of packages, by how they ended.");
  writer.series(label("result", "built"), figures.built);
  writer.series(label("result", "reused"), figures.reused);
  writer.series(label("result", "failed"), figures.failed);
  writer.series(label("result", "cancelled"), figures.cancelled);
  writer.one("glovebox_builds_active", "gauge", "Builds that have a sandbox.", figures.building);
  writer.one("glovebox_builds_queued", "gauge", "Builds that wait for others.", figures.queued);
  writer.one("glovebox_layers", "gauge", "Layers of packages that are kept.", figures.layers);
  writer.one("glovebox_layer_bytes", "gauge", "What they have on disk.", figures.layer_bytes);
  writer.one("glovebox_layers_corrupt_total", "counter", "Layers that were found corrupt.",
             figures.corrupt);
  writer.one("glovebox_set_templates", "gauge", "Templates of sets of packages.",
             figures.templates);
}

}  // namespace

void Metrics::count_run(store::RunStatus status, bool warm) {
  ++runs_.at(static_cast<std::size_t>(status));
  // Without an outcome nothing is known of its interpreter.
  if (status != store::RunStatus::kError) ++(warm ? warm_runs_ : cold_runs_);
}

void Metrics::count_phase(Phase phase, std::chrono::microseconds time) {
  phases_[static_cast<std::size_t>(phase)].add(time);
}

std::string Metrics::text(const node::NodeFigures& node, const store::Health& store,
                          const http::ServerFigures& http,
                          const std::vector<TemplateStatus>& templates, std::size_t subscribers,
                          const SessionFigures& sessions,
                          const DependencyFigures& dependencies) const {
  Writer writer;
  writer.begin("glovebox_runs_total", "counter", "Runs by how they ended.");
  for (std::size_t i = 1; i < runs_.size(); ++i) {
    writer.series(label("outcome", store::run_status_name(static_cast<store::RunStatus>(i))),
                  runs_[i]);
  }
  writer.begin("glovebox_runs_started_total", "counter", "Runs by how their interpreter began.");
  writer.series(label("start", "warm"), warm_runs_);
  writer.series(label("start", "cold"), cold_runs_);
  writer.begin("glovebox_run_seconds", "histogram", "Time of a run by phase.");
  for (std::size_t i = 0; i < phases_.size(); ++i) {
    phases_[i].write(writer.out, "glovebox_run_seconds", label("phase", phase_label(i)));
  }
  writer.begin("glovebox_refusals_total", "counter", "Runs that were refused, by error code.");
  for (const auto& [code, count] : refusals_) writer.series(label("code", code), count);
  write_node(writer, node);
  write_network(writer, node.network);
  write_sessions(writer, sessions);
  write_dependencies(writer, dependencies);
  write_templates(writer, templates);
  write_store(writer, store);
  writer.begin("glovebox_http_answers_total", "counter", "Answers by class of status.");
  for (const auto& [kind, count] : answers_) {
    writer.series(label("class", to_string(kind) + "xx"), count);
  }
  write_http(writer, http);
  writer.one("glovebox_event_subscribers", "gauge", "Open streams of /v1/events.", subscribers);
  return std::move(writer.out);
}

}  // namespace glovebox::control
