// POST /v1/functions/invoke: an AWS Lambda handler's source and its event in, its value out. It is
// a run like any other, on the same pools and with the same limits and records; what it runs is the
// guest half of src/wire/function_call.h.
#include <utility>

#include "control/auth.h"
#include "control/routes/handlers.h"
#include "control/run_flow.h"
#include "control/run_plan.h"
#include "control/run_refusal.h"
#include "control/template_watch.h"
#include "wire/function_answer.h"
#include "wire/function_request.h"

namespace glovebox::control::routes {
namespace {

struct CallPlan {
  RunPlan run;
  wire::FunctionAbout about;
};

Result<CallPlan> plan_call(const App& app, wire::FunctionRequest request,
                           const std::string& project) {
  // What is run is known only with the limits, which are part of what the handler is told.
  request.run.code = "";
  TRY(RunPlan run, plan_run(app, std::move(request.run), project));
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

Task<Response> invoke_function(App& app, Request& request, ResponseWriter& writer) {
  const auto who = principal_of(app, request);
  if (!who) co_return *refuse(app, request, Access::kKey);
  auto parsed = wire::parse_function_request(request.body);
  if (!parsed) co_return refuse_run(parsed.error());
  co_await wait_for_templates(app);
  auto plan = plan_call(app, std::move(*parsed), who->project);
  if (!plan) co_return refuse_run(plan.error());
  ExitWords words = [about = std::move(plan->about)](wire::RunAnswer& answer) {
    return wire::function_exit_json(answer, about);
  };
  co_return co_await carry_out(app, request, writer, *who, std::move(plan->run), std::move(words));
}

}  // namespace glovebox::control::routes
