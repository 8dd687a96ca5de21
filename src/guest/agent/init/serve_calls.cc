#include "guest/agent/init/serve_calls.h"

#include <utility>
#include <vector>

#include "base/fd_message.h"
#include "guest/agent/init/sandbox_wait.h"
#include "guest/agent/run/runtime.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {
namespace {

// Nothing of the last call is left.
Result<> request_runtime(const ReusableSandbox& sandbox, ServePlan& plan) {
  TRY(const UniqueFd ruleset, sandbox.make_ruleset());
  TRY(RuntimeDescriptors descriptors, make_runtime_descriptors(sandbox.change_user));
  std::vector<int> fds;
  for (const UniqueFd& one : descriptors.theirs) fds.push_back(one.get());
  if (ruleset) fds.push_back(ruleset.get());
  const wire::PlanMessage join = wire::JoinRuntime{};
  TRY_OK(send_message(sandbox.launcher, wire::encode(join), fds));
  plan.runtime = std::move(descriptors.ours);
  plan.runtime->filters = kJoinedFilters;
  return {};
}

}  // namespace

Result<> serve_calls(const ReusableSandbox& sandbox, ServePlan plan) {
  plan.landlock.reset();  // each runtime gets its own, of its own directories
  while (true) {
    auto taken = wait_until_taken(sandbox.launcher, plan.runtime, sandbox.change_user);
    if (!taken) return {};
    plan.link = std::move(taken->link);
    plan.limits = taken->limits;
    auto next = serve_call(std::move(plan), sandbox.launcher, sandbox.cleaner.last_pid());
    if (!next) return {};
    plan = std::move(next->plan);
    TRY_OK(sandbox.cleaner.clean(std::move(next->scratch)));
    TRY_OK(request_runtime(sandbox, plan));
  }
}

}  // namespace glovebox::agent
