// From what a caller said to what the node is to do: which template, which program or runtime,
// which environment, and the whole profile.
#pragma once

#include <memory>
#include <optional>
#include <string>

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
  node::RunJob job;           // its template as the node calls it
  std::string template_name;  // as the caller's project calls it
  std::string language;       // of the template, for the record
  std::string profile_hash;   // SHA-256 of its canonical text
  // Packages: the job has no template until this has been prepared.
  std::optional<packages::PackageSetRequest> set{};
  std::shared_ptr<void> set_hold{};  // keeps what was prepared until the run is over
};

struct PlanSettings {
  EngineKind engine = EngineKind::kJail;
  std::optional<Grade> min_grade{};  // the administrator's floor; a request may only raise it
  net::NetCeiling ceiling{};         // what the administrator lets sandboxes reach
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
