// From what a caller said of a sandbox to what the node is to make: which template, the whole
// profile, the environment. As run_plan does for runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "control/session_request.h"
#include "node/run_service.h"
#include "node/session_service.h"

namespace glovebox::control {

struct SessionPlan {
  node::SessionSpec spec;  // owner and project are the caller's to fill in
  std::string profile_hash;
};

// kNotFound: no such template; kUnavailable: none is known at all yet. `template_name` is what the
// request says, or its snapshot's.
Result<SessionPlan> plan_session(const node::RunService& node, std::string template_name,
                                 const CreateRequest& request, EngineKind engine,
                                 std::optional<Grade> floor);

// What a program in a session starts with: the base, the template's words, the session's own.
std::vector<std::string> session_environment(const node::RunService& node,
                                             const std::string& template_name,
                                             const std::vector<std::string>& own);

// Bytes of memory that the host can still give away, by its own count; nothing when unknown.
std::optional<std::uint64_t> available_memory();

}  // namespace glovebox::control
