#include "api/routes/sandboxes/exec_routes.h"

#include <boost/json.hpp>
#include <utility>

#include "routing/large_requests.h"
#include "routing/refusals.h"
#include "sessions/processes/process_json.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;
Task<Response> run_in_background(const ExecRoutes::Dependencies& deps, std::string owner,
                                 std::shared_ptr<node::Session> session,
                                 sessions::ExecRequest exec) {
  auto given = std::move(exec.stdin_bytes);
  exec.stdin_bytes.reset();
  // No client waits while this input is held for the process, so only a little is accepted.
  constexpr std::size_t kMostInput = 1u << 20;
  if (given && given->size() > kMostInput) {
    co_return fail(Errc::kInvalidArgument,
                   "stdin: at most 1 MB for a background program; write the rest with "
                   "POST …/processes/{process}/stdin");
  }
  CO_TRY(std::shared_ptr<void> claim, deps.processes.claim_stdin(owner, given));
  CO_TRY(node::Session::Started started,
         co_await deps.processes.start_exec(session, std::move(exec),
                                            sessions::ExecKind::kBackground));
  const wire::ProcessNumber number = started.info.number;
  if (given) deps.processes.feed_stdin(session, number, std::move(*given), std::move(claim));
  const auto process = session->find_process(number);
  co_return Response::json(
      json::serialize(sessions::process_json(process ? *process : started.info)) + "\n", 202);
}

}  // namespace

std::span<const routing::RouteRow<ExecRoutes>> ExecRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<ExecRoutes> kRows[] = {
      {Method::kPost, "/v1/sandboxes/{id}/exec", routing::Access::kKey, &ExecRoutes::post_exec,
       "Run a command in a sandbox", http::kDefaultBodyLimit},
  };
  return kRows;
}

Task<Response> ExecRoutes::post_exec(Request& request, ResponseWriter&) {
  CO_TRY(auto session, deps_.lookup.session_of(request));
  CO_TRY(sessions::ExecRequest exec,
         co_await routing::parse_body(deps_.worker, request, sessions::parse_exec_request));
  request.body = std::string();  // it can be large
  Result<Response> answer = fail(Errc::kInternal, "nothing was started");
  if (exec.background) {
    answer = co_await run_in_background(deps_, request.owner, std::move(session), std::move(exec));
  } else {
    answer = co_await deps_.execs.run(request, std::move(session), std::move(exec));
  }
  if (!answer) {
    if (auto refusal = routing::refuse_program(answer.error())) co_return std::move(*refusal);
  }
  co_return answer;
}

}  // namespace glovebox::api
