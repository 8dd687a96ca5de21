#include "api/routes/batch_routes.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "api/run_responder.h"
#include "base/utf8.h"
#include "node/async/notifier.h"
#include "node/async/wake_signal.h"
#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "wire/runs/batch_request.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

// Answers that the client has not read yet; beyond that no further input is begun.
constexpr std::size_t kMaxWaiting = 4u << 20;

// What the runs of one request have in common. One thread. Shared by them and by the request, which
// waits for all of them.
struct Batch {
  Batch(boost::asio::io_context& io, store::Principal caller, runs::RunPlan one,
        std::vector<wire::BatchInput> all)
      : who(std::move(caller)),
        plan(std::move(one)),
        inputs(std::move(all)),
        changed(io),
        was_written(io) {}

  void cancel() {
    stopped = true;
    for (const auto& run : running) run->cancel();
    was_written.notify_all();
    changed.set();
  }

  const store::Principal who;
  const runs::RunPlan plan;
  std::vector<wire::BatchInput> inputs;
  std::size_t next = 0;
  std::size_t workers = 0;
  bool stopped = false;  // the client has gone
  std::set<std::shared_ptr<node::CancelFlag>> running;
  std::string lines;         // that wait to be written
  node::WakeSignal changed;  // there are lines, or a worker has ended
  node::Notifier was_written;
};

std::string line_of(std::size_t index, const Response& response) {
  std::string line = "{\"index\":" + std::to_string(index) +
                     ",\"status\":" + std::to_string(response.status) + ",";
  if (!response.problem) return line + response.body.substr(1);  // which ends with its line
  const boost::json::object error{{"code", response.problem->code},
                                  {"message", to_utf8(response.problem->message)}};
  return line + "\"error\":" + boost::json::serialize(error) + "}\n";
}

// The packages, the bundle and other files of the request are the same for all, and shared.
void share_files(node::RunJob& job) {
  for (node::InputFile& file : job.files) {
    if (file.shared == nullptr) {
      file.shared = std::make_shared<const std::string>(std::exchange(file.content, {}));
    }
  }
}

boost::asio::awaitable<void> run_inputs(std::shared_ptr<Batch> batch, RunFlow& flow,
                                        MemoryBudget& budget, Request& request,
                                        ResponseWriter& writer) {
  while (!batch->stopped && batch->next < batch->inputs.size()) {
    if (batch->lines.size() > kMaxWaiting) {
      const auto later = std::chrono::steady_clock::now() + std::chrono::seconds(1);
      co_await batch->was_written.wait(later);
      continue;
    }
    const std::size_t index = batch->next++;
    runs::RunPlan plan = batch->plan;
    wire::BatchInput input = std::move(batch->inputs[index]);
    runs::set_input(plan.job, std::move(input.args), std::move(input.stdin_bytes));
    const auto cancel = std::make_shared<node::CancelFlag>();
    batch->running.insert(cancel);
    const std::unique_ptr<RunResponder> responder =
        make_responder(routing::AnswerForm::kJson, budget, batch->who.project, writer);
    ExitJson exit_json = wire::run_exit_json;
    Result<Response> answer = co_await flow.execute_part(request, *responder, batch->who,
                                                         std::move(plan), exit_json, cancel);
    batch->running.erase(cancel);
    const Response response = answer ? std::move(*answer) : Response::from_error(answer.error());
    batch->lines += line_of(index, response);
    batch->changed.set();
  }
  --batch->workers;
  batch->changed.set();
}

}  // namespace

std::span<const routing::RouteRow<BatchRoutes>> BatchRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<BatchRoutes> kRows[] = {
      {Method::kPost, "/v1/run/batch", routing::Access::kKey, &BatchRoutes::post_batch,
       "Run code or a command once for each of many inputs", routing::BodyLimit::configured()},
  };
  return kRows;
}

Task<Response> BatchRoutes::post_batch(Request& request, ResponseWriter& writer) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  if (!request.header("Idempotency-Key").empty()) {
    co_return Response::refuse(400, "invalid_argument",
                               "Idempotency-Key: cannot be used for a batch, whose answer is not "
                               "kept; repeat the inputs that have no answer");
  }
  auto parsed = co_await routing::parse_body(deps_.worker, request, wire::parse_batch_request);
  if (!parsed) co_return routing::refuse_run(parsed.error());
  request.body = std::string();  // it can be large
  auto plan = co_await deps_.runs.plan_run(std::move(parsed->run), *who);
  if (!plan) co_return std::move(plan.error());
  share_files(plan->job);
  plan->job.project = who->project;
  if (plan->reuse != ReuseMode::kNever) plan->job.reuse = runs::reuse_key(*plan, who->key.str());
  const auto batch =
      std::make_shared<Batch>(deps_.io, *who, std::move(*plan), std::move(parsed->inputs));
  request.on_disconnect([batch] { batch->cancel(); });

  http::Headers headers;
  headers.set("Content-Type", "application/x-ndjson");
  headers.set("Cache-Control", "no-store");
  if (!co_await writer.begin(200, std::move(headers))) batch->cancel();
  batch->workers = std::min<std::size_t>(parsed->parallel, batch->inputs.size());
  for (std::size_t i = batch->workers; i > 0; --i) {
    boost::asio::co_spawn(deps_.io,
                          run_inputs(batch, deps_.flow, deps_.memory_budget, request, writer),
                          boost::asio::detached);
  }
  while (batch->workers > 0 || !batch->lines.empty()) {
    if (batch->lines.empty()) {
      co_await batch->changed.wait();
      continue;
    }
    std::string lines = std::exchange(batch->lines, {});
    const bool wanted = co_await writer.write(std::move(lines));
    if (!wanted) batch->cancel();
    batch->was_written.notify_all();
  }
  (void)co_await writer.finish();
  co_return Response::streamed();
}

}  // namespace glovebox::api
