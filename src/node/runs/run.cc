#include "node/runs/run.h"

#include <utility>

#include "node/runs/run_attempt.h"

namespace glovebox::node {
namespace {

Result<> check(const RunJob& job) {
  if (job.job.has_value() == job.exec.has_value()) {
    return fail(Errc::kInvalidArgument, "give either code or a command, not both");
  }
  if (job.exec && job.exec->terminal) {
    return fail(Errc::kUnsupported, "a run cannot have a terminal; use a session");
  }
  return {};
}

SandboxRequest sandbox_request_for(const RunJob& job, bool again) {
  SandboxRequest request;
  request.key = {job.template_name, job.engine};
  request.limits = job.limits;
  request.mounts = job.mounts;
  request.runtime = job.job.has_value();
  // The second attempt uses neither an idle sandbox nor a waiting runtime.
  request.cold = job.cold || again;
  request.pooled = !again;
  request.owner = job.owner;
  request.project = job.project;
  request.network = !job.net.is_none();
  if (!again && !job.reuse.empty()) request.reuse = job.template_name + " " + job.reuse;
  return request;
}

}  // namespace

Task<RunReport> run_job(RunContext context, RunJob job, RunSink& sink,
                        std::shared_ptr<CancelFlag> cancel) {
  const Clock::time_point asked = context.options.now();
  CO_TRY_OK(check(job));
  // Before a sandbox is taken.
  if (!job.net.is_none()) CO_TRY_OK(co_await context.networks.wait_for_gateway());
  for (bool again = false;; again = true) {
    RunReport report;
    SandboxRequest request = sandbox_request_for(job, again);
    CO_TRY(std::unique_ptr<Sandbox> sandbox,
           co_await context.allocator.acquire(std::move(request), cancel));
    report.queued =
        std::chrono::duration_cast<std::chrono::microseconds>(context.options.now() - asked);
    if (!sandbox) {
      report.outcome.engine = job.engine;
      report.cancelled = true;
      co_return report;
    }
    const TemplateStatus* its_template = context.allocator.find_template(job.template_name);
    const RuntimeKind runtime =
        its_template != nullptr ? its_template->description.runtime : RuntimeKind::kPython;
    RunAttempt attempt(context, job, sink, std::move(sandbox), report, asked);
    Result<> done = co_await attempt.go(runtime, cancel);
    if (done) co_return report;
    if (again || !attempt.may_retry()) co_return fail(std::move(done.error()));
  }
}

}  // namespace glovebox::node
