#include "api/routes/function_routes.h"

#include <utility>

#include "routing/image_lookup.h"
#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"
#include "wire/functions/function_answer.h"
#include "wire/functions/function_request.h"
#include "wire/guest/job.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

struct CallPlan {
  runs::RunPlan run;
  wire::FunctionCallInfo about;
};

Result<CallPlan> plan_call(const FunctionRoutes::Dependencies& deps, wire::FunctionRequest request,
                           const std::string& project) {
  // The code is encoded after planning, because it contains the limits for the handler's context.
  request.run.code = "";
  TRY(runs::RunPlan run, deps.planner.plan(std::move(request.run), project));
  if (!run.job.job || (run.language != "python" && run.language != "javascript")) {
    return fail(Errc::kInvalidArgument, "template: \"" + run.template_name +
                                            "\" has neither Python nor Node, which handlers need");
  }
  request.call.language =
      run.language == "python" ? wire::FunctionLanguage::kPython : wire::FunctionLanguage::kNode;
  const std::uint64_t memory_mb = run.job.limits.memory_bytes >> 20;
  if (run.job.shares_interpreter) {
    wire::SharedCall shared = wire::encode_shared_call(request.call, memory_mb);
    run.job.job->name = wire::kSharedFunctionJob;
    run.job.job->code = std::move(shared.code);
    run.job.call = wire::encode_shared_call({}, shared.input);
    return CallPlan{std::move(run), std::move(shared.about)};
  }
  wire::EncodedCall encoded = wire::encode_call(request.call, memory_mb);
  run.job.job->name = wire::kFunctionJob;
  run.job.job->code = std::move(encoded.code);
  return CallPlan{std::move(run), std::move(encoded.about)};
}

}  // namespace

std::span<const routing::RouteRow<FunctionRoutes>> FunctionRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<FunctionRoutes> kRows[] = {
      {Method::kPost, "/v1/functions/invoke", routing::Access::kKey,
       &FunctionRoutes::invoke_function, "Call an AWS Lambda handler in a fresh sandbox",
       routing::BodyLimit::configured()},
  };
  return kRows;
}

Task<Response> FunctionRoutes::invoke_function(Request& request, ResponseWriter& writer) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  auto parsed = co_await routing::parse_body(deps_.worker, request, wire::parse_function_request);
  if (!parsed) co_return routing::refuse_run(parsed.error());
  co_await deps_.watcher.wait_until_known();
  auto image = co_await routing::find_image(deps_.images, deps_.templates, who->project,
                                            parsed->run.template_name, parsed->run.profile);
  if (!image) co_return routing::refuse_image_use(image.error());
  auto plan = plan_call(deps_, std::move(*parsed), who->project);
  if (!plan) co_return routing::refuse_run(plan.error());
  ExitJson exit_json = [about = std::move(plan->about)](wire::RunAnswer& answer) {
    return wire::function_exit_json(answer, about);
  };
  co_return co_await deps_.flow.execute_run(request, writer, *who, std::move(plan->run),
                                            std::move(exit_json));
}

}  // namespace glovebox::api
