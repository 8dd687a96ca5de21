#include "api/run_flow.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <utility>

#include "api/idempotency.h"
#include "api/run_responder.h"
#include "base/wall_clock.h"
#include "routing/refusals.h"
#include "routing/run_output.h"

namespace glovebox::api {
namespace {

using Clock = std::chrono::steady_clock;
using http::Request;
using http::Response;
using http::ResponseWriter;
using runs::RunHeader;
using runs::RunPlan;

RunHeader header_of(const Request& request, const store::Principal& who, const RunPlan& plan) {
  RunHeader run;
  run.request_id = request.id;
  run.project = who.project;
  run.key_id = who.key.str();
  run.template_name = plan.template_name;
  run.language = plan.language;
  run.profile_hash = plan.profile_hash;
  run.code = plan.kept_code;
  run.started_ms = wall_clock_ms();
  run.began = Clock::now();
  return run;
}

wire::RunAnswer answer_of(const RunHeader& run, node::RunReport& report) {
  wire::RunAnswer answer;
  answer.id = run.id.str();
  answer.request_id = run.request_id;
  answer.outcome = report.outcome;
  answer.outcome.truncated = answer.outcome.truncated || report.results_truncated;
  answer.results = std::move(report.results);
  for (node::OutputFile& file : report.files) {
    answer.files.push_back({std::move(file.path), std::move(file.content)});
  }
  answer.files_error = report.files_truncated && report.files_error.empty()
                           ? "the files are too many or too large for an answer"
                           : report.files_error;
  answer.profile = run.profile_hash;
  answer.template_name = run.template_name;
  answer.warm = report.warm;
  answer.reused = report.reused;
  answer.cancelled = report.cancelled;
  answer.queued = report.queued;
  answer.network = std::move(report.network);
  answer.packages = run.packages;
  return answer;
}

// The run was cancelled: by its client, or because the server stops.
Response refuse_cancelled(const Request& request) {
  if (request.disconnected()) return routing::refuse_gone_client();
  Response response =
      Response::refuse(503, "server_stopping", "the server is stopping; the run was ended");
  response.headers.set("Retry-After", "2");
  return response;
}

struct AnswerTexts {
  std::string exit;
  std::string whole;  // empty unless requested
};

// May run on the worker: uses only its arguments.
AnswerTexts write_texts(wire::RunAnswer& answer, const ExitJson& exit_json, bool whole) {
  AnswerTexts texts;
  texts.exit = exit_json(answer);
  if (whole) texts.whole = wire::run_answer_json(texts.exit, answer.outcome);
  return texts;
}

// Encodes a small answer here, and a large one on the worker.
asio::awaitable<AnswerTexts> texts_of(routing::Worker& worker, std::string owner,
                                      std::shared_ptr<wire::RunAnswer> answer, ExitJson exit_json,
                                      bool whole) {
  constexpr std::size_t kSmall = 256 * 1024;
  std::size_t size = answer->outcome.out.size() + answer->outcome.err.size();
  for (const std::string& line : answer->results) size += line.size();
  for (const wire::AnswerFile& file : answer->files) size += file.content.size();
  if (size <= kSmall) co_return write_texts(*answer, exit_json, whole);
  auto writing = [answer, exit_json = std::move(exit_json), whole] {
    return write_texts(*answer, exit_json, whole);
  };
  co_return co_await worker.run(std::move(owner), std::move(writing));
}

// Sets the template that has the prepared packages; the job can run now.
void use_packages(RunHeader& run, RunPlan& plan, packages::PreparedPackages prepared) {
  plan.job.template_name = std::move(prepared.template_id);
  plan.set_hold = std::move(prepared.hold);
  run.packages = wire::PreparedPackageSet{.layer = std::move(prepared.layer_id),
                                          .built = prepared.built,
                                          .waited = prepared.waited,
                                          .cold_because = std::move(prepared.cold_because)};
  if (!plan.cold_because.empty()) run.packages->cold_because = std::move(plan.cold_because);
}

// For whom it runs, and with what it may share a sandbox.
void set_owner(RunPlan& plan, const store::Principal& who) {
  plan.job.owner = who.project;
  if (plan.set) plan.set->key_id = who.key.str();
  plan.job.project = who.project;
  if (plan.reuse != ReuseMode::kNever && plan.job.reuse.empty()) {
    plan.job.reuse = runs::reuse_key(plan, who.key.str());
  }
}

}  // namespace

Task<Response> RunFlow::refuse(RunResponder& responder, const RunHeader& run, Response refusal,
                               Error error) {
  std::string event = routing::error_event_json(refusal, error.message(), run.request_id);
  deps_.log.failed(run, routing::code_of(refusal), error.message());
  co_return co_await responder.refuse(std::move(refusal), std::move(event));
}

Task<Response> RunFlow::run(Request& request, RunResponder& responder, RunHeader run, RunPlan plan,
                            ExitJson exit_json, std::shared_ptr<node::CancelFlag> cancel) {
  if (plan.set) {
    packages::ProgressSink* progress = responder.progress();
    Result<packages::PreparedPackages> prepared = fail(Errc::kInternal, "not prepared");
    if (progress != nullptr) {
      prepared = co_await deps_.packages.prepare(std::move(*plan.set), cancel, *progress);
    } else {
      prepared = co_await deps_.packages.prepare(std::move(*plan.set), cancel);
    }
    if (!prepared) {
      Response refusal = cancel->cancelled() ? refuse_cancelled(request)
                                             : routing::refuse_packages(prepared.error());
      co_return co_await refuse(responder, run, std::move(refusal), std::move(prepared.error()));
    }
    use_packages(run, plan, std::move(*prepared));
  }
  Result<node::RunReport> report =
      co_await deps_.node.run(std::move(plan.job), responder.sink(), cancel);
  if (!report) {
    auto program = routing::refuse_program(report.error());
    Response refusal = program ? std::move(*program) : routing::refuse_run(report.error());
    co_return co_await refuse(responder, run, std::move(refusal), std::move(report.error()));
  }
  auto answer = std::make_shared<wire::RunAnswer>(answer_of(run, *report));
  responder.take_output(answer->outcome);
  const bool whole = responder.is_whole() && !report->cancelled;
  AnswerTexts texts =
      co_await texts_of(deps_.worker, request.owner, answer, std::move(exit_json), whole);
  report->outcome.exit_code = answer->outcome.exit_code;
  deps_.log.finished(run, *report, std::move(answer->outcome.out), std::move(answer->outcome.err),
                     texts.exit);
  if (report->cancelled && !responder.begun()) co_return refuse_cancelled(request);
  co_return co_await responder.finish(std::move(texts.exit), std::move(texts.whole));
}

Task<Response> RunFlow::execute_part(Request& request, RunResponder& responder,
                                     const store::Principal& who, RunPlan plan, ExitJson exit_json,
                                     std::shared_ptr<node::CancelFlag> cancel) {
  set_owner(plan, who);
  RunHeader run = header_of(request, who, plan);
  const std::uint64_t memory = plan.job.limits.memory_bytes + plan.job.limits.disk_bytes;
  auto admission = deps_.usage.admit(who, memory, Clock::now());
  if (!admission) {
    deps_.metrics.count_refusal("key_limit", who.project);
    co_return routing::refuse_run(admission.error());
  }
  deps_.log.started(run);
  co_return co_await this->run(request, responder, std::move(run), std::move(plan),
                               std::move(exit_json), std::move(cancel));
}

Task<Response> RunFlow::execute_run(Request& request, ResponseWriter& writer, store::Principal who,
                                    RunPlan plan, ExitJson exit_json) {
  set_owner(plan, who);
  const routing::AnswerForm form = routing::answer_form(request);
  RunHeader run = header_of(request, who, plan);

  Idempotency once(deps_.store, deps_.worker, who, request);
  std::string run_id = run.id.str();
  std::optional<Response> known =
      co_await once.begin(std::move(run_id), form != routing::AnswerForm::kJson);
  if (known) co_return std::move(*known);

  const std::uint64_t memory = plan.job.limits.memory_bytes + plan.job.limits.disk_bytes;
  auto admission = deps_.usage.admit(who, memory, Clock::now());
  if (!admission) {
    deps_.metrics.count_refusal("key_limit", who.project);
    Response refusal = routing::refuse_run(admission.error());
    co_await once.give_up(false);
    co_return refusal;
  }
  // The body can be large and is no longer needed.
  request.body = std::string();

  auto cancel = std::make_shared<node::CancelFlag>();
  // A client that sent an Idempotency-Key can repeat the request, so its run continues without it.
  if (!once.named()) request.on_disconnect([cancel] { cancel->cancel(); });
  deps_.log.started(run);

  // Even after an exception, the Idempotency-Key must not stay in the state "running".
  const std::unique_ptr<RunResponder> responder =
      make_responder(form, deps_.memory_budget, run.project, writer);
  std::exception_ptr thrown;
  Result<Response> answer = fail(Errc::kInternal, "no answer");
  try {
    answer = co_await this->run(request, *responder, std::move(run), std::move(plan),
                                std::move(exit_json), cancel);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (answer && answer->status == 200) {
    co_await once.finish(*answer);
  } else {
    co_await once.give_up(responder->sink().may_have_run());
  }
  if (thrown) std::rethrow_exception(thrown);
  co_return answer;
}

}  // namespace glovebox::api
