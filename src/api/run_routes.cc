// POST /v1/run: code in, result out. What happens between plan and answer is in
// runs/execute_run.cc.
#include <utility>

#include "api/handlers.h"
#include "routing/authentication.h"
#include "routing/refusals.h"
#include "runs/execute_run.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

Task<Response> post_run(routing::App& app, Request& request, ResponseWriter& writer) {
  const auto who = routing::principal_of(app, request);
  if (!who) co_return *refuse(app, request, routing::Access::kKey);
  auto parsed = wire::parse_run_request(request.body);
  if (!parsed) co_return routing::refuse_run(parsed.error());
  co_await templates::wait_for_templates(app);
  auto plan = runs::plan_run(app, std::move(*parsed), who->project);
  if (!plan) co_return routing::refuse_run(plan.error());
  runs::ExitJson words = wire::run_exit_json;
  co_return co_await execute_run(app, request, writer, *who, std::move(*plan), std::move(words));
}

}  // namespace glovebox::api
