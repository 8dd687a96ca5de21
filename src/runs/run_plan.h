// Turns a run request into the job that the node runs: the template, the program or runtime, the
// environment, and the complete profile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "model/wall.h"
#include "net/net_policy.h"
#include "node/runs/run_job.h"
#include "node/runs/run_service.h"
#include "packages/package_service.h"
#include "templates/project_templates.h"
#include "wire/runs/run_request.h"

namespace glovebox::runs {

struct RunPlan {
  node::RunJob job;           // with the node's name of the template
  std::string template_name;  // the project's name of the template
  std::string language;       // of the template, for the record
  std::string profile_hash;   // SHA-256 of its canonical text
  std::string kept_code;      // for the record; empty unless the administrator keeps it
  // Packages: the job has no template until this has been prepared.
  std::optional<packages::PackageSetRequest> set{};
  std::shared_ptr<void> set_hold{};  // keeps the prepared packages until the run has ended
  // Why this run of an image starts cold, whatever waits; empty: it need not.
  std::string cold_because{};
  ReuseMode reuse = ReuseMode::kNever;
};

// What two runs must have in common to be served by one sandbox, one after the other: the key, the
// project, the engine and the whole profile: limits, mounts, network, packages; and, to share an
// interpreter, the code, its environment and its files. The node adds its own name of the template.
std::string reuse_key(const RunPlan& plan, const std::string& key_id);

// What one of many runs of a plan has for itself.
void set_input(node::RunJob& job, std::vector<std::string> args, std::string stdin_bytes);

struct PlanSettings {
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade{};  // the administrator's floor; a request may only raise it
  net::NetCeiling ceiling{};         // what the administrator lets sandboxes reach
  bool keeps_code = false;           // store.keep_code
};

class RunPlanner {
 public:
  // Both are borrowed and outlive this.
  RunPlanner(const node::RunService& node, const templates::ProjectTemplates& templates,
             PlanSettings settings)
      : node_(node), templates_(templates), settings_(std::move(settings)) {}

  // kNotFound: no such template; kInvalidArgument: it does not fit the request; kUnavailable: no
  // template is known yet, because this server has just started. `project` is the caller's, whose
  // own templates can be named.
  Result<RunPlan> plan(wire::RunRequest request, const std::string& project) const;

 private:
  const node::RunService& node_;
  const templates::ProjectTemplates& templates_;
  const PlanSettings settings_;
};

}  // namespace glovebox::runs
