// `sandbox-run --server` and sandbox-run with packages: sandbox-run has parsed the options and
// prepared the body of POST /v1/functions/invoke. This sends it and prints the result as a local
// run does.
//
//   glovebox-client invoke --body-fd N [--url URL | --private] [--json] [--profile]
//
// With --private it starts a server for this call, which installs the packages and ends with it.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "base/utf8.h"
#include "base/write_all.h"
#include "client/commands.h"
#include "client/connection/private_server.h"
#include "client/connection/signal_interrupt.h"
#include "client/output/build_progress.h"
#include "client/output/print.h"
#include "client/output/run_events.h"
#include "client/requests/request_body.h"
#include "wire/functions/function_view.h"
#include "wire/runs/outcome_json.h"

namespace glovebox::client {
namespace {

struct InvokeOptions {
  ServerLocationOptions server;
  bool json = false;
  bool profile = false;
  bool is_private = false;
  std::string body;
};

Result<InvokeOptions> parse_invoke_options(const std::vector<std::string>& args) {
  InvokeOptions invoke;
  std::string body_fd;
  const options::CommandLine command{
      .name = "glovebox-client invoke",
      .usage = {"--body-fd N [OPTIONS]"},
      .description = "Invoke a function on a server. sandbox-run executes this command.",
      .groups = {{"Options",
                  {{"--body-fd", "N", "descriptor with the request body", &body_fd},
                   {"--private", "", "start a server for this call", &invoke.is_private},
                   {"--json", "", "print the whole response", &invoke.json},
                   {"--profile", "", "print time and memory use", &invoke.profile}}},
                 server_location_options(invoke.server)}};
  TRY_OK(options::parse(command, args));
  TRY(invoke.body, read_request_body(body_fd));
  return invoke;
}

int invoke_failed(const InvokeOptions& invoke, int status, const Error& error) {
  if (was_interrupted()) return kExitInterrupted;
  if (invoke.json) (void)write_all(STDOUT_FILENO, wire::failure_json(error));
  std::fprintf(stderr, "sandbox-run: %s\n", printable_lines(error.message()).c_str());
  return status;
}

int invoke_refused(const InvokeOptions& invoke, const ApiError& error) {
  const bool is_bad_request = error.status == 400 || error.status == 413;
  return invoke_failed(
      invoke, is_bad_request ? wire::kFunctionFailed : wire::kFunctionNotStarted,
      Error(is_bad_request ? Errc::kInvalidArgument : Errc::kUnavailable, error.message));
}

int print_function_result(const InvokeOptions& invoke, const std::string& response) {
  const auto view = wire::view_function(response);
  if (!view) return invoke_failed(invoke, wire::kFunctionFailed, view.error());
  const std::string& out = invoke.json ? response : view->out;
  std::fputs(view->remarks.c_str(), stderr);
  if (invoke.profile) std::fputs(view->profile.c_str(), stderr);
  if (!write_all(STDOUT_FILENO, out)) return wire::kFunctionFailed;
  return view->status;
}

http::ClientRequest invoke_request(InvokeOptions& invoke, const char* accept) {
  http::ClientRequest request = post_request("/v1/functions/invoke", std::move(invoke.body));
  request.headers = {{"Accept", accept}};
  return request;
}

int invoke_and_wait(ApiClient& api, InvokeOptions& invoke) {
  auto response = api.send(invoke_request(invoke, "application/json"));
  if (!response) return invoke_failed(invoke, wire::kFunctionNotStarted, response.error());
  if (const auto error = api.error_in(*response)) return invoke_refused(invoke, *error);
  return print_function_result(invoke, response->body);
}

// Prints the function's output while it runs.
int invoke_streaming(ApiClient& api, InvokeOptions& invoke) {
  bool is_output_closed = false;
  BuildProgress progress;
  RunEvents events(
      [&](bool, std::string_view bytes) {
        is_output_closed = !write_all(STDERR_FILENO, bytes);
        return !is_output_closed;
      },
      [&](std::string_view phase, std::string_view text) {
        (void)write_all(STDERR_FILENO, progress.add(phase, text));
      });
  auto response = events.read_from(api, invoke_request(invoke, "application/x-ndjson"));
  if (is_output_closed) return was_interrupted() ? kExitInterrupted : 128 + SIGPIPE;
  if (!response) {
    const bool is_malformed = response.error().code() == Errc::kProtocol;
    return invoke_failed(invoke, is_malformed ? wire::kFunctionFailed : wire::kFunctionNotStarted,
                         response.error());
  }
  if (const auto error = api.error_in(*response)) return invoke_refused(invoke, *error);
  const auto result = events.take_result_json();
  if (!result && events.failure_code() == "dependencies_failed") {
    const std::string message = progress.failure_message(result.error().message());
    return invoke_failed(invoke, wire::kFunctionNotStarted, Error(Errc::kUnavailable, message));
  }
  if (!result) return invoke_failed(invoke, wire::kFunctionNotStarted, result.error());
  return print_function_result(invoke, *result);
}

}  // namespace

int invoke_command(const std::vector<std::string>& args) {
  auto invoke = parse_invoke_options(args);
  if (!invoke) {
    (void)usage_error(invoke.error().message());
    return wire::kFunctionFailed;
  }
  interrupt_on_signals();
  std::unique_ptr<PrivateServer> server;
  if (invoke->is_private) {
    auto started = PrivateServer::start({}, PrivateServer::Log::kHidden);
    if (!started) return invoke_failed(*invoke, wire::kFunctionNotStarted, started.error());
    server = std::move(*started);
    if (was_interrupted()) return kExitInterrupted;
  }
  auto api = server ? ApiClient::open(server->location()) : ApiClient::connect(invoke->server);
  if (!api) return invoke_failed(*invoke, wire::kFunctionNotStarted, api.error());
  const InterruptibleRequest interruptible(*api);
  return invoke->json ? invoke_and_wait(*api, *invoke) : invoke_streaming(*api, *invoke);
}

}  // namespace glovebox::client
