// POST /v1/functions/invoke: an AWS Lambda handler's source and its event in, its value out. It is
// a run like any other, on the same pools and with the same limits and records; what it runs is the
// guest half of src/wire/functions/function_call.h.
#include <utility>

#include "api/handlers.h"
#include "routing/authentication.h"
#include "routing/refusals.h"
#include "runs/execute_run.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"
#include "wire/functions/function_answer.h"
#include "wire/functions/function_request.h"

namespace glovebox::api {
namespace {

struct CallPlan {
  runs::RunPlan run;
  wire::FunctionCallInfo about;
};

Result<CallPlan> plan_call(const routing::App& app, wire::FunctionRequest request,
                           const std::string& project) {
  // What is run is known only with the limits, which are part of what the handler is told.
  request.run.code = "";
  TRY(runs::RunPlan run, runs::plan_run(app, std::move(request.run), project));
  if (!run.job.job || (run.language != "python" && run.language != "javascript")) {
    return fail(Errc::kInvalidArgument, "template: \"" + run.template_name +
                                            "\" has neither Python nor Node, which handlers need");
  }
  request.call.language =
      run.language == "python" ? wire::FunctionLanguage::kPython : wire::FunctionLanguage::kNode;
  wire::EncodedCall encoded = wire::encode_call(request.call, run.job.limits.memory_bytes >> 20);
  encoded.about.has_cpu_limit = run.job.limits.cpu_time.count() > 0;
  run.job.job->name = wire::kFunctionJob;
  run.job.job->code = std::move(encoded.code);
  return CallPlan{std::move(run), std::move(encoded.about)};
}

}  // namespace

Task<Response> invoke_function(routing::App& app, Request& request, ResponseWriter& writer) {
  const auto who = routing::principal_of(app, request);
  if (!who) co_return *refuse(app, request, routing::Access::kKey);
  auto parsed = wire::parse_function_request(request.body);
  if (!parsed) co_return routing::refuse_run(parsed.error());
  co_await templates::wait_for_templates(app);
  auto plan = plan_call(app, std::move(*parsed), who->project);
  if (!plan) co_return routing::refuse_run(plan.error());
  runs::ExitJson words = [about = std::move(plan->about)](wire::RunAnswer& answer) {
    return wire::function_exit_json(answer, about);
  };
  co_return co_await execute_run(app, request, writer, *who, std::move(plan->run), std::move(words));
}

}  // namespace glovebox::api
