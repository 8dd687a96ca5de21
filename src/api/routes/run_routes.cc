#include "api/routes/run_routes.h"

#include <utility>

#include "routing/image_lookup.h"
#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "runs/run_plan.h"
#include "templates/template_watcher.h"
#include "wire/runs/run_answer.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;

std::span<const routing::RouteRow<RunRoutes>> RunRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<RunRoutes> kRows[] = {
      {Method::kPost, "/v1/run", routing::Access::kKey, &RunRoutes::post_run,
       "Run code or a command in a fresh sandbox", routing::BodyLimit::configured()},
  };
  return kRows;
}

Task<Response> RunRoutes::post_run(Request& request, ResponseWriter& writer) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  auto parsed = co_await routing::parse_body(deps_.worker, request, wire::parse_run_request);
  if (!parsed) co_return routing::refuse_run(parsed.error());
  auto plan = co_await plan_run(std::move(*parsed), *who);
  if (!plan) co_return std::move(plan.error());
  ExitJson exit_json = wire::run_exit_json;
  co_return co_await deps_.flow.execute_run(request, writer, *who, std::move(*plan),
                                            std::move(exit_json));
}

boost::asio::awaitable<RunRoutes::Planned> RunRoutes::plan_run(wire::RunRequest wanted,
                                                               const store::Principal& who) {
  std::shared_ptr<const std::string> bundle;
  if (!wanted.bundle.empty()) {
    bundle = deps_.bundles.find(who.project, wanted.bundle);
    if (bundle == nullptr) {
      co_return tl::unexpected(
          Response::refuse(404, "bundle_not_found",
                           "bundle: send it with PUT /v1/bundles/DIGEST, and then the run again"));
    }
  }
  co_await deps_.watcher.wait_until_known();
  auto image = co_await routing::find_image(deps_.images, deps_.templates, who.project,
                                            wanted.template_name, wanted.profile);
  if (!image) co_return tl::unexpected(routing::refuse_image_use(image.error()));
  auto plan = deps_.planner.plan(std::move(wanted), who.project);
  if (!plan) co_return tl::unexpected(routing::refuse_run(plan.error()));
  if (bundle != nullptr) {
    auto path = GuestPath::parse(runs::kBundlePath);
    if (!path) co_return tl::unexpected(Response::from_error(path.error()));
    plan->job.files.push_back(
        {.path = std::move(*path), .content = {}, .mode = 0600, .shared = std::move(bundle)});
  }
  co_return std::move(*plan);
}

}  // namespace glovebox::api
