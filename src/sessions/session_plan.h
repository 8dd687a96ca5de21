// Turns a request for a sandbox into the specification that the node creates it from: the template,
// the complete profile, the environment. run_plan does the same for runs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/runs/run_service.h"
#include "node/sessions/session_service.h"
#include "packages/package_service.h"
#include "sessions/session_request.h"
#include "templates/project_templates.h"

namespace glovebox::sessions {

struct SessionPlan {
  node::SessionSpec spec;     // the caller fills in owner and project
  std::string template_name;  // the project's name for it; the spec has the node's name
  std::string template_id;    // of a project's own template; else empty
  // All variables of a project's own template: the session keeps them even if the template changes.
  std::vector<std::string> template_env;
  std::string profile_hash;
  // Packages, including those of the template and the snapshot: the spec has no template until this
  // has been prepared.
  std::optional<packages::PackageSetRequest> set{};
};

// The caller, and its project's templates besides the administrator's; `book` may be null. `kept`
// are the packages of the sandbox that a snapshot was made from, `kept_layer` is their layer.
struct TemplateScope {
  const templates::ProjectTemplates* book = nullptr;
  std::string project;
  Dependencies kept{};
  std::string kept_layer{};
  std::string snapshot{};
};

// kNotFound: no such template; kUnavailable: no template is known yet. `template_name` is the one
// in the request, or its snapshot's.
Result<SessionPlan> plan_session(const node::RunService& node, std::string template_name,
                                 const CreateRequest& request, EngineKind engine,
                                 std::optional<Grade> floor, const TemplateScope& scope = {});

// The environment of a program in a session: the base, the variables of the administrator's
// template, then the session's own, which include those of a project's template.
std::vector<std::string> session_environment(const node::RunService& node,
                                             const store::SessionRecord& session);

// Bytes of memory that the kernel reports as available on the host; nothing when unknown.
std::optional<std::uint64_t> available_memory();

}  // namespace glovebox::sessions
