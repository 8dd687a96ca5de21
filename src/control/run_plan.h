// From what a caller said to what the node is to do: which template, which program or runtime,
// which environment, and the whole profile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "control/app.h"
#include "control/dependencies/dependency_book.h"
#include "model/profile.h"
#include "node/runner.h"
#include "wire/run_request.h"

namespace glovebox::control {

struct RunPlan {
  node::RunJob job;           // its template as the node calls it
  std::string template_name;  // as the caller's project calls it
  std::string language;       // of the template, for the record
  std::string profile_hash;   // SHA-256 of its canonical text
  // Packages: the job has no template until this has been prepared.
  std::optional<SetWish> set{};
  std::shared_ptr<void> set_hold{};  // keeps what was prepared until the run is over
};

// kNotFound: no such template; kInvalidArgument: it does not fit what was asked; kUnavailable: no
// template is known at all, because this server has just started. `project` is the caller's, whose
// own templates can be named.
Result<RunPlan> plan_run(const App& app, wire::RunRequest request, const std::string& project = {});

}  // namespace glovebox::control
