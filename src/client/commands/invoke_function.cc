// `sandbox-run` on a server: the front has read the options and made them the body of POST
// /v1/functions/invoke, which waits in a descriptor of ours; here it is sent, and what comes back
// is shown as a local run would.
//
//   glovebox-server invoke --body-fd N [--url URL] [--json] [--profile]
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/write_all.h"
#include "client/connection/api_client.h"
#include "client/requests/request_body.h"
#include "client/commands.h"
#include "client/output/print.h"
#include "client/output/run_events.h"
#include "wire/function_view.h"
#include "wire/outcome_json.h"

namespace glovebox::client {
namespace {

constexpr int kExitInterrupted = 130;
constexpr const char* kTarget = "/v1/functions/invoke";

struct InvokeWords {
  PlaceWords place;
  bool json = false;
  bool profile = false;
  std::string body;
};

// One call per process: whom a signal ends, and whether it has.
Api* running = nullptr;
volatile sig_atomic_t stopped = 0;

void stop(int) {
  stopped = 1;
  if (running != nullptr) running->interrupt();
}

// Closing the connection is what ends the call.
void stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = stop;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::sigaction(signal, &action, nullptr);
  }
  ::signal(SIGPIPE, SIG_IGN);
}

Result<InvokeWords> read_words(const std::vector<std::string>& args) {
  InvokeWords words;
  std::string body_fd;
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(),
                 {{"--json", &words.json}, {"--profile", &words.profile}, {"--body-fd", &body_fd}});
  TRY_OK(take_options(args, options, "invoke"));
  TRY(words.body, read_body_file(body_fd));
  return words;
}

int failed(const InvokeWords& words, int status, const Error& error) {
  if (stopped != 0) return kExitInterrupted;
  if (words.json) (void)write_all(STDOUT_FILENO, wire::failure_json(error));
  std::fprintf(stderr, "sandbox-run: %s\n", printable(error.message()).c_str());
  return status;
}

// What the request says is wrong, or the server did not start anything.
int refused_call(const InvokeWords& words, const Refusal& refusal) {
  const bool is_callers = refusal.status == 400 || refusal.status == 413;
  return failed(words, is_callers ? wire::kFunctionFailed : wire::kFunctionNotStarted,
                Error(is_callers ? Errc::kInvalidArgument : Errc::kUnavailable, refusal.message));
}

int show(const InvokeWords& words, const std::string& answer) {
  const auto view = wire::view_function(answer);
  if (!view) return failed(words, wire::kFunctionFailed, view.error());
  const std::string& out = words.json ? answer : view->out;
  std::fputs(view->remarks.c_str(), stderr);
  if (words.profile) std::fputs(view->profile.c_str(), stderr);
  if (!write_all(STDOUT_FILENO, out)) return wire::kFunctionFailed;
  return view->status;
}

int call_at_once(Api& api, InvokeWords& words) {
  auto response = api.send({.method = http::Method::kPost,
                            .target = kTarget,
                            .headers = {{"Accept", "application/json"}},
                            .body = std::move(words.body)});
  if (!response) return failed(words, wire::kFunctionNotStarted, response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_call(words, *refusal);
  return show(words, response->body);
}

// Logs come as they are written.
int call_live(Api& api, InvokeWords& words) {
  bool reader_gone = false;
  RunEvents events([&](bool, std::string_view bytes) {
    reader_gone = !write_all(STDERR_FILENO, bytes);
    return !reader_gone;
  });
  std::optional<Error> broken;
  auto response = api.stream({.method = http::Method::kPost,
                              .target = kTarget,
                              .headers = {{"Accept", "application/x-ndjson"}},
                              .body = std::move(words.body)},
                             [&](std::string_view piece) {
                               const auto goes_on = events.add(piece);
                               if (!goes_on) broken = goes_on.error();
                               return goes_on && *goes_on;
                             });
  if (reader_gone) return stopped != 0 ? kExitInterrupted : 128 + SIGPIPE;
  if (!response) return failed(words, wire::kFunctionNotStarted, response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_call(words, *refusal);
  if (broken) return failed(words, wire::kFunctionFailed, *broken);
  const auto answer = events.take_end_text();
  if (!answer) return failed(words, wire::kFunctionNotStarted, answer.error());
  return show(words, *answer);
}

}  // namespace

int invoke_command(const std::vector<std::string>& args) {
  auto words = read_words(args);
  if (!words) {
    (void)usage_error(words.error().message());
    return wire::kFunctionFailed;
  }
  auto place = find_place(words->place, PlaceSurroundings::here());
  if (!place) return failed(*words, wire::kFunctionNotStarted, place.error());
  auto api = Api::open(std::move(*place));
  if (!api) return failed(*words, wire::kFunctionNotStarted, api.error());
  running = &*api;
  stop_on_signals();
  const int status = words->json ? call_at_once(*api, *words) : call_live(*api, *words);
  running = nullptr;
  return status;
}

}  // namespace glovebox::client
