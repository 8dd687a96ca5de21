// The agent of a reusable sandbox: serves one call after the other, and cleans up between them.
#pragma once

#include <functional>

#include "base/result.h"
#include "base/unique_fd.h"
#include "guest/agent/init/call_cleaner.h"
#include "guest/agent/run/serve.h"

namespace glovebox::agent {

struct ReusableSandbox {
  int launcher = -1;  // borrowed: the socket on which each call is given and ended
  bool change_user = true;
  const CallCleaner& cleaner;
  // A Landlock ruleset of the directories that are there now; empty without Landlock.
  std::function<Result<UniqueFd>()> make_ruleset;
};

// `plan` has the first runtime. Returns when the launcher has gone or a call did not end in order,
// or with an error if something could not be removed; the sandbox must end then.
Result<> serve_calls(const ReusableSandbox& sandbox, ServePlan plan);

}  // namespace glovebox::agent
