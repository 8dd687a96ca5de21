// From what a caller said of a sandbox to what the node is to make: which template, the whole
// profile, the environment. As run_plan does for runs.
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
  node::SessionSpec spec;     // owner and project are the caller's to fill in
  std::string template_name;  // as the project calls it; the spec has what the node calls it
  std::string template_id;    // of a project's own; else empty
  // Of such a one, all its words: the session keeps them, whatever becomes of it.
  std::vector<std::string> template_env;
  std::string profile_hash;
  // Packages, the template's and the snapshot's among them: the spec has no template until this has
  // been prepared.
  std::optional<packages::PackageSetRequest> set{};
};

// Who asks, and what can be named besides the administrator's templates; `book` may be null. `kept`
// are packages that the sandbox of a snapshot had, and `kept_layer` what they came to.
struct TemplateScope {
  const templates::ProjectTemplates* book = nullptr;
  std::string project;
  Dependencies kept{};
  std::string kept_layer{};
  std::string snapshot{};
};

// kNotFound: no such template; kUnavailable: none is known at all yet. `template_name` is what the
// request says, or its snapshot's.
Result<SessionPlan> plan_session(const node::RunService& node, std::string template_name,
                                 const CreateRequest& request, EngineKind engine,
                                 std::optional<Grade> floor, const TemplateScope& scope = {});

// What a program in a session starts with: the base, the words of the administrator's template, the
// session's own, which have those of a project's template.
std::vector<std::string> session_environment(const node::RunService& node,
                                             const store::SessionRecord& session);

// Bytes of memory that the host can still give away, by its own count; nothing when unknown.
std::optional<std::uint64_t> available_memory();

}  // namespace glovebox::sessions
