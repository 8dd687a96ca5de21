// What the routes need of a host that runs code. Node is the real one; the routes' tests have
// a small one of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "model/template.h"
#include "model/wall.h"
#include "node/host/host_pressure.h"
#include "node/runs/run_job.h"

namespace glovebox::node {

// One pool: never-used sandboxes of one template and engine that wait.
struct PoolFigures {
  std::string template_name;
  EngineKind engine = EngineKind::kJail;
  bool is_of_sessions = false;  // each of these pools is one project's
  std::uint32_t idle = 0;
  std::uint32_t making = 0;
  std::uint32_t target = 0;
  std::uint64_t hits = 0;    // takes that found one waiting
  std::uint64_t misses = 0;  // takes that had to wait for one or make it
};

// Of all sandboxes since this server began, as far as the gateway has said.
struct NetworkTotals {
  bool gateway_up = false;
  std::uint64_t gateway_losses = 0;  // how often it went away under us
  std::uint32_t networks = 0;        // sandboxes that have one now
  std::uint64_t connections = 0;     // allowed ones
  std::uint64_t denied = 0;          // connections and names
  std::uint64_t bytes_out = 0;
  std::uint64_t bytes_in = 0;
};

// What the sandboxes of the jail engine were like that this host's launcher made last.
struct EngineFigures {
  std::optional<WallSet> run_walls;      // none: it has made none for a run yet
  std::optional<WallSet> session_walls;  // likewise for a session
  std::string error;                     // why the last one could not be made; empty: it was
};

struct NodeFigures {
  std::vector<PoolFigures> pools;
  std::uint32_t sandboxes_alive = 0;  // waiting, being made, and in use
  std::uint32_t runs_active = 0;      // have a sandbox
  std::uint32_t queued = 0;           // runs that wait for a sandbox
  std::uint32_t zygotes = 0;
  bool launcher_up = false;
  std::uint64_t launcher_losses = 0;  // how often it went away under us
  std::uint64_t memory_committed_bytes = 0;
  NetworkTotals network;
  HostFigures host;
  EngineFigures jail;
};

class RunService {
 public:
  virtual ~RunService() = default;

  // Errors: kNotFound (no such template), kPolicy (a ceiling, a mount, the grade),
  // kInvalidArgument (does not fit this template), kUnsupported (this host cannot enforce what was
  // asked for), kResourceExhausted (full: the message says of what), kUnavailable (the launcher is
  // gone; the message has the word "launcher"). `sink` outlives the call.
  virtual Task<RunReport> run(RunJob job, RunSink& sink, std::shared_ptr<CancelFlag> cancel) = 0;

  // The administrator's; a server's own are TemplateService's, and can be named to run() as well.
  virtual std::vector<TemplateStatus> templates() const = 0;
  // Null when there is none of this name. Good until the caller awaits something.
  virtual const TemplateStatus* find_template(std::string_view name) const = 0;
  virtual NodeFigures figures() const = 0;
};

}  // namespace glovebox::node
