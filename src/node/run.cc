#include "node/run.h"

#include <utility>

#include "node/attempt.h"

namespace glovebox::node {
namespace {

Result<> check(const RunJob& job) {
  if (job.job.has_value() == job.exec.has_value()) {
    return fail(Errc::kInvalidArgument, "either code or a program, and not both");
  }
  if (job.exec && job.exec->terminal) {
    return fail(Errc::kUnsupported, "a run has no terminal");
  }
  return {};
}

Wish run_wish(const RunJob& job, bool again) {
  Wish wish;
  wish.key = {job.template_name, job.engine};
  wish.limits = job.limits;
  wish.mounts = job.mounts;
  wish.runtime = job.job.has_value();
  // What waited has let us down once: one that did not wait, with nothing in it.
  wish.cold = job.cold || again;
  wish.pooled = !again;
  wish.owner = job.owner;
  wish.project = job.project;
  wish.network = !job.net.is_none();
  return wish;
}

}  // namespace

Task<RunReport> run_job(RunPlace place, RunJob job, RunSink& sink,
                        std::shared_ptr<CancelFlag> cancel) {
  const Clock::time_point asked = place.options.now();
  CO_TRY_OK(check(job));
  // Before it has cost anything.
  if (!job.net.is_none()) CO_TRY_OK(co_await place.networks.wait_for_gateway());
  for (bool again = false;; again = true) {
    RunReport report;
    Wish wish = run_wish(job, again);
    CO_TRY(std::unique_ptr<Sandbox> sandbox, co_await place.pools.acquire(std::move(wish), cancel));
    report.queued =
        std::chrono::duration_cast<std::chrono::microseconds>(place.options.now() - asked);
    if (!sandbox) {
      report.outcome.engine = job.engine;
      report.cancelled = true;
      co_return report;
    }
    const TemplateStatus* its_template = place.pools.find_template(job.template_name);
    const RuntimeKind runtime =
        its_template != nullptr ? its_template->description.runtime : RuntimeKind::kPython;
    Attempt attempt(place, job, sink, std::move(sandbox), report, asked);
    Result<> done = co_await attempt.go(runtime, cancel);
    if (done) co_return report;
    if (again || !attempt.worth_another()) co_return fail(std::move(done.error()));
  }
}

}  // namespace glovebox::node
