// POST /v1/run: code in, result out. What happens between plan and answer is in
// control/run_flow.cc.
#include <utility>

#include "control/auth.h"
#include "control/routes/handlers.h"
#include "control/run_flow.h"
#include "control/run_plan.h"
#include "control/run_refusal.h"
#include "control/template_watch.h"
#include "wire/run_answer.h"

namespace glovebox::control::routes {

Task<Response> post_run(App& app, Request& request, ResponseWriter& writer) {
  const auto who = principal_of(app, request);
  if (!who) co_return *refuse(app, request, Access::kKey);
  auto parsed = wire::parse_run_request(request.body);
  if (!parsed) co_return refuse_run(parsed.error());
  co_await wait_for_templates(app);
  auto plan = plan_run(app, std::move(*parsed), who->project);
  if (!plan) co_return refuse_run(plan.error());
  ExitWords words = wire::run_exit_json;
  co_return co_await carry_out(app, request, writer, *who, std::move(*plan), std::move(words));
}

}  // namespace glovebox::control::routes
