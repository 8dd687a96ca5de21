// `glovebox run --server`: `glovebox` has parsed the options and prepared the body of POST /v1/run.
// This sends it and prints the result as a local run does.
//
//   glovebox-client run --body-fd N [--url URL | --private] [--json] [--python]
//                       [--no-host-packages] [--image NAME --pull WHEN] [/guest/file:host/file ...]
//
// With --private it starts a server for this run, which installs the packages and ends with it.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/write_all.h"
#include "client/commands.h"
#include "client/connection/private_server.h"
#include "client/connection/signal_interrupt.h"
#include "client/output/build_progress.h"
#include "client/output/image_pull.h"
#include "client/output/network_notes.h"
#include "client/output/output_files.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/output/run_events.h"
#include "client/output/run_result.h"
#include "client/requests/request_body.h"
#include "model/outcome.h"
#include "model/program_refusal.h"
#include "wire/network/net_refusals.h"
#include "wire/runs/missing_module.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kMostFilesOut = 100'000;

struct RemoteRunOptions {
  ServerLocationOptions server;
  bool json = false;
  bool is_private = false;
  bool is_python = false;
  bool hides_host_packages = false;
  std::string image;  // of the body; it may have to be pulled first
  PullPolicy pull = PullPolicy::kNever;
  std::string body;
  std::vector<OutputFile> files;
};

Result<RemoteRunOptions> parse_remote_run_options(const std::vector<std::string>& args) {
  RemoteRunOptions run;
  std::string body_fd;
  const options::TakeValue pull = [&run](const std::string& text) -> Result<> {
    const auto policy = parse_pull_policy(text);
    if (!policy) return fail(Errc::kInvalidArgument, "--pull must be missing, always or never");
    run.pull = *policy;
    return {};
  };
  const options::CommandLine command{
      .name = "glovebox-client run",
      .usage = {"--body-fd N [OPTIONS] [/guest/file:host/file...]"},
      .description = "Run code on a server. `glovebox run` executes this command.",
      .groups = {{"Options",
                  {{"--body-fd", "N", "descriptor with the request body", &body_fd},
                   {"--private", "", "start a server for this run", &run.is_private},
                   {"--image", "NAME", "the image of the body", &run.image},
                   {"--pull", "WHEN", "pull it first: missing, always or never", pull},
                   {"--python", "", "the code is Python: a missing module gets a hint",
                    &run.is_python},
                   {"--no-host-packages", "", "this hint names --host-packages as well",
                    &run.hides_host_packages},
                   {"--json", "", "print the whole response", &run.json}}},
                 server_location_options(run.server)},
      .most_operands = kMostFilesOut};
  TRY(const options::Arguments arguments, options::parse(command, args));
  for (const std::string& word : arguments.operands) {
    TRY(OutputFile file, parse_output_file(word));
    run.files.push_back(std::move(file));
  }
  TRY(run.body, read_request_body(body_fd));
  return run;
}

int run_failed(const RemoteRunOptions& run, const std::string& code, const Error& error) {
  if (was_interrupted()) return kExitInterrupted;
  if (run.json) (void)write_all(STDOUT_FILENO, run_failure_json(code, error));
  const int status = failure(error);
  return exit_status_of_refusal(code).value_or(status);
}

int run_refused(const RemoteRunOptions& run, const ApiError& error) {
  return run_failed(run, error.code, Error(Errc::kUnavailable, error.message));
}

// What the program's error output seems to say about the reason of a failure.
struct FailureReasons {
  wire::NetworkErrorDetector network;
  wire::MissingModule module;
  void add(std::string_view bytes) {
    network.add(bytes);
    module.add(bytes);
  }
};

std::string module_note(const RemoteRunOptions& run, const FailureReasons& reasons) {
  const std::string module = run.is_python ? reasons.module.name() : "";
  if (module.empty()) return {};
  const auto host =
      run.hides_host_packages ? wire::HostPackages::kHidden : wire::HostPackages::kVisible;
  return "glovebox: " + wire::missing_module_hint(module, host) + "\n";
}

int finish_run(const RemoteRunOptions& run, const json::object& result,
               const FailureReasons& reasons) {
  const int status = exit_status_of(result);
  const auto copied = write_output_files(result, run.files);
  if (run.json) {
    if (!write_all(STDOUT_FILENO, run_result_json(result))) return kExitGloveboxFailed;
  } else {
    std::fputs(limit_notes(result).c_str(), stderr);
    if (status != 0) std::fputs(module_note(run, reasons).c_str(), stderr);
  }
  std::fputs(run_network_note(result, reasons.network.found()).c_str(), stderr);
  if (copied) return status;
  // Always reported; but the program's own exit status, if it failed, is the better explanation.
  const int failed = failure(copied.error());
  return status == 0 ? failed : status;
}

http::ClientRequest run_request(RemoteRunOptions& run, const char* accept) {
  http::ClientRequest request = post_request("/v1/run", std::move(run.body));
  request.headers = {{"Accept", accept}};
  return request;
}

// Before the run, by --pull. An exit status: it was reported why there is no image.
std::optional<int> pull_before_run(ApiClient& api, const RemoteRunOptions& run) {
  if (run.image.empty()) return std::nullopt;
  const ImagePullRequest wanted{.image = run.image, .is_quiet = run.json};
  const auto pulled = provide_image(api, wanted, run.pull);
  if (!pulled) return run_failed(run, "", pulled.error());
  if (pulled->refused) return run_refused(run, *pulled->refused);
  return std::nullopt;
}

int run_and_wait(ApiClient& api, RemoteRunOptions& run) {
  auto response = api.send(run_request(run, "application/json"));
  if (!response) return run_failed(run, "", response.error());
  if (const auto error = api.error_in(*response)) return run_refused(run, *error);
  const auto result = parse_response(response->body);
  if (!result) return run_failed(run, "", result.error());
  FailureReasons reasons;
  reasons.add(string_field(*result, "stderr"));
  return finish_run(run, *result, reasons);
}

int run_streaming(ApiClient& api, RemoteRunOptions& run) {
  bool is_output_closed = false;
  BuildProgress progress;
  FailureReasons reasons;
  RunEvents events(
      [&](bool is_stderr, std::string_view bytes) {
        if (is_stderr) reasons.add(bytes);
        is_output_closed = !write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, bytes);
        return !is_output_closed;
      },
      [&](std::string_view phase, std::string_view text) {
        (void)write_all(STDERR_FILENO, progress.add(phase, text));
      });
  auto response = events.read_from(api, run_request(run, "application/x-ndjson"));
  // A local program would have died of SIGPIPE.
  if (is_output_closed) return was_interrupted() ? kExitInterrupted : 128 + SIGPIPE;
  if (!response) return run_failed(run, "", response.error());
  if (const auto error = api.error_in(*response)) return run_refused(run, *error);
  const auto result = events.take_result();
  if (result) return finish_run(run, *result, reasons);
  if (events.failure_code() != "dependencies_failed") {
    return run_failed(run, events.failure_code(), result.error());
  }
  return run_failed(run, events.failure_code(),
                    Error(Errc::kUnavailable, progress.failure_message(result.error().message())));
}

}  // namespace

int run_command(const std::vector<std::string>& args) {
  auto run = parse_remote_run_options(args);
  if (!run) return usage_error(run.error().message());
  interrupt_on_signals();
  std::unique_ptr<PrivateServer> server;
  if (run->is_private) {
    auto started = PrivateServer::start({}, PrivateServer::Log::kHidden);
    if (!started) return run_failed(*run, "", started.error());
    server = std::move(*started);
    if (was_interrupted()) return kExitInterrupted;
  }
  auto api = server ? ApiClient::open(server->location()) : ApiClient::connect(run->server);
  if (!api) {
    if (api.error().code() == Errc::kInvalidArgument) return usage_error(api.error().message());
    return run_failed(*run, "", api.error());
  }
  int status = 0;
  {
    const InterruptibleRequest interruptible(*api);
    const auto failed = pull_before_run(*api, *run);
    if (failed) {
      status = *failed;
    } else {
      status = run->json ? run_and_wait(*api, *run) : run_streaming(*api, *run);
    }
  }
  if (server && !was_interrupted() && server->has_ended()) {
    std::fprintf(stderr, "glovebox: the private server ended unexpectedly: %s\n",
                 server->last_error().c_str());
  }
  return status;
}

}  // namespace glovebox::client
