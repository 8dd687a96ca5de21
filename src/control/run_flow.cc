#include "control/run_flow.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json.hpp>
#include <exception>
#include <memory>
#include <utility>

#include "control/clock.h"
#include "control/dependency_words.h"
#include "control/idempotency.h"
#include "control/run_output.h"
#include "control/run_record.h"
#include "control/run_refusal.h"
#include "control/set_flow.h"
#include "wire/utf8.h"

namespace glovebox::control {
namespace {

using Clock = std::chrono::steady_clock;
using http::Request;
using http::Response;
using http::ResponseWriter;

// Nobody reads this answer; the number is for the log.

RunHeader header_of(const Request& request, const store::Principal& who, const RunPlan& plan) {
  RunHeader run;
  run.request_id = request.id;
  run.project = who.project;
  run.key_id = who.key.str();
  run.template_name = plan.template_name;
  run.language = plan.language;
  run.profile_hash = plan.profile_hash;
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
                           ? "there are more files, or larger ones, than an answer can hold"
                           : report.files_error;
  answer.profile = run.profile_hash;
  answer.template_name = run.template_name;
  answer.warm = report.warm;
  answer.cancelled = report.cancelled;
  answer.queued = report.queued;
  answer.network = std::move(report.network);
  answer.packages = run.packages;
  return answer;
}

// A run that was ended for us rather than by its caller: the server stops.
Response ended_early(const Request& request) {
  if (request.disconnected()) {
    return refuse_gone_client();
  }
  Response response =
      Response::refuse(503, "server_stopping", "the server stops; the run was ended");
  response.headers.set("Retry-After", "2");
  return response;
}

Response json_answer(std::string body) {
  Response response = Response::json(std::move(body));
  response.headers.set("Cache-Control", "no-store");
  return response;
}

struct Texts {
  std::string exit;
  std::string answer;  // empty for a stream
};

// Runs on the worker; touches nothing but what it is given.
asio::awaitable<Texts> write_texts(std::shared_ptr<wire::RunAnswer> answer, ExitWords words,
                                   bool whole) {
  Texts texts;
  texts.exit = words(*answer);
  if (whole) texts.answer = wire::run_answer_json(texts.exit, answer->outcome);
  co_return texts;
}

// A small answer is written here and now, one that takes longer on the worker meanwhile.
asio::awaitable<Texts> texts_of(App& app, std::shared_ptr<wire::RunAnswer> answer, ExitWords words,
                                bool whole) {
  constexpr std::size_t kSmall = 256 * 1024;
  std::size_t size = answer->outcome.out.size() + answer->outcome.err.size();
  for (const std::string& line : answer->results) size += line.size();
  for (const wire::AnswerFile& file : answer->files) size += file.content.size();
  asio::awaitable<Texts> writing = write_texts(std::move(answer), std::move(words), whole);
  if (size <= kSmall) co_return co_await std::move(writing);
  co_return co_await asio::co_spawn(app.worker, std::move(writing), asio::use_awaitable);
}

// The job may be run now: it is of the template that its packages came to.
void take_set(RunHeader& run, RunPlan& plan, SetMade made) {
  plan.job.template_name = std::move(made.template_id);
  plan.set_hold = std::move(made.hold);
  run.packages = wire::PreparedSet{.layer = std::move(made.layer_id),
                                   .built = made.built,
                                   .waited = made.waited,
                                   .cold_because = std::move(made.cold_because)};
}

std::string code_in(const Response& refusal) {
  return refusal.problem ? refusal.problem->code : "internal";
}

// Told as the end of a stream that has begun.
std::string error_event(const RunHeader& run, const Response& refusal, const Error& error) {
  return boost::json::serialize(boost::json::object{{"code", code_in(refusal)},
                                                    {"message", wire::to_utf8(error.message())},
                                                    {"status", refusal.status},
                                                    {"request_id", run.request_id}});
}

// The whole answer at once.
Task<Response> run_and_answer(App& app, Request& request, KeepingSink& sink, RunHeader run,
                              RunPlan plan, ExitWords words,
                              std::shared_ptr<node::CancelFlag> cancel) {
  if (plan.set) {
    auto made = co_await prepare_set(app, std::move(*plan.set), cancel);
    if (!made) {
      Response refusal = cancel->cancelled() ? ended_early(request) : refuse_set(made.error());
      tell_failed(app, run, code_in(refusal), made.error().message());
      co_return refusal;
    }
    take_set(run, plan, std::move(*made));
  }
  Result<node::RunReport> report = co_await app.node.run(std::move(plan.job), sink, cancel);
  if (!report) {
    Response refusal = refuse_run(report.error());
    tell_failed(app, run, code_in(refusal), report.error().message());
    co_return refusal;
  }
  auto answer = std::make_shared<wire::RunAnswer>(answer_of(run, *report));
  answer->outcome.truncated = answer->outcome.truncated || sink.truncated();
  answer->outcome.out = std::move(sink.out);
  answer->outcome.err = std::move(sink.err);
  Texts texts = co_await texts_of(app, answer, std::move(words), !report->cancelled);
  report->outcome.exit_code = answer->outcome.exit_code;
  Response response =
      report->cancelled ? ended_early(request) : json_answer(std::move(texts.answer));
  // Counted until its client has taken it; it has run, so it is answered in any case.
  response.holds = app.held_output.claim(response.body.size());
  tell_finished(app, run, *report, std::move(answer->outcome.out), std::move(answer->outcome.err),
                std::move(texts.exit));
  co_return response;
}

// The same, and the request's name is never left as if it still ran, whatever is thrown.
Task<Response> run_once(App& app, Request& request, Idempotency& once, RunHeader run, RunPlan plan,
                        ExitWords words, std::shared_ptr<node::CancelFlag> cancel) {
  KeepingSink sink(app.held_output);
  std::exception_ptr thrown;
  Result<Response> answer = fail(Errc::kInternal, "no answer");
  try {
    answer = co_await run_and_answer(app, request, sink, std::move(run), std::move(plan),
                                     std::move(words), cancel);
  } catch (...) {
    thrown = std::current_exception();
  }
  if (answer && answer->status == 200) {
    co_await once.finish(*answer);
  } else {
    co_await once.give_up(sink.may_have_run());
  }
  if (thrown) std::rethrow_exception(thrown);
  co_return answer;
}

// The same as live events.
Task<Response> run_and_stream(App& app, Request& request, ResponseWriter& writer, RunHeader run,
                              RunPlan plan, ExitWords words, AnswerForm form,
                              std::shared_ptr<node::CancelFlag> cancel) {
  StreamingSink sink(writer, form);
  std::optional<Error> failed;
  Response refusal;
  if (plan.set) {
    auto made = co_await prepare_set_aloud(app, std::move(*plan.set), cancel, sink);
    if (made) {
      take_set(run, plan, std::move(*made));
    } else {
      failed = std::move(made.error());
      refusal = cancel->cancelled() ? ended_early(request) : refuse_set(*failed);
    }
  }
  Result<node::RunReport> report = fail(Errc::kInternal, "not run");
  if (!failed) {
    report = co_await app.node.run(std::move(plan.job), sink, cancel);
    if (!report) {
      failed = std::move(report.error());
      refusal = refuse_run(*failed);
    }
  }
  if (failed) {
    tell_failed(app, run, code_in(refusal), failed->message());
    if (!sink.begun()) co_return refusal;
    std::string data = error_event(run, refusal, *failed);
    std::string event = "error";
    co_await sink.finish(std::move(event), std::move(data));
    co_return Response::streamed();
  }
  auto answer = std::make_shared<wire::RunAnswer>(answer_of(run, *report));
  Texts texts = co_await texts_of(app, answer, std::move(words), false);
  report->outcome.exit_code = answer->outcome.exit_code;
  std::string exit_json = std::move(texts.exit);
  const bool nobody = report->cancelled && !sink.begun();
  tell_finished(app, run, *report, sink.out, sink.err, exit_json);
  if (nobody) co_return ended_early(request);
  std::string event = "exit";
  co_await sink.finish(std::move(event), std::move(exit_json));
  co_return Response::streamed();
}

}  // namespace

Task<Response> carry_out(App& app, Request& request, ResponseWriter& writer, store::Principal who,
                         RunPlan plan, ExitWords words) {
  plan.job.owner = who.key.str();
  if (plan.set) plan.set->key_id = who.key.str();
  plan.job.project = who.project;
  const AnswerForm form = answer_form(request);
  RunHeader run = header_of(request, who, plan);

  Idempotency once(app, who, request);
  std::string run_id = run.id.str();
  std::optional<Response> known = co_await once.begin(std::move(run_id), form != AnswerForm::kJson);
  if (known) co_return std::move(*known);

  const std::uint64_t memory = plan.job.limits.memory_bytes + plan.job.limits.disk_bytes;
  auto admission = app.usage.admit(who, memory, Clock::now());
  if (!admission) {
    app.metrics.count_refusal("key_limit");
    Response refusal = refuse_run(admission.error());
    co_await once.give_up(false);
    co_return refusal;
  }
  // Its body can be large and has been read.
  request.body = std::string();

  auto cancel = std::make_shared<node::CancelFlag>();
  // Whoever named the request comes back for the answer, so it goes on without them.
  if (!once.named()) request.on_disconnect([cancel] { cancel->cancel(); });
  tell_started(app, run);
  if (form != AnswerForm::kJson) {
    co_return co_await run_and_stream(app, request, writer, std::move(run), std::move(plan),
                                      std::move(words), form, cancel);
  }
  co_return co_await run_once(app, request, once, std::move(run), std::move(plan), std::move(words),
                              cancel);
}

}  // namespace glovebox::control
