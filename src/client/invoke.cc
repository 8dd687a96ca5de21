// `sandbox-run` on a server: the front has read the options and made them the body of POST
// /v1/functions/invoke, which waits in a descriptor of ours; here it is sent, and what comes back
// is shown as a local run would.
//
//   glovebox-server invoke --body-fd N [--url URL] [--json] [--profile]
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "base/write_all.h"
#include "client/api.h"
#include "client/body_file.h"
#include "client/commands.h"
#include "client/interrupt.h"
#include "client/print.h"
#include "client/run_events.h"
#include "model/outcome.h"
#include "wire/function_view.h"
#include "wire/outcome_json.h"

namespace glovebox::client {
namespace {

constexpr const char* kTarget = "/v1/functions/invoke";

struct InvokeWords {
  PlaceWords place;
  bool json = false;
  bool profile = false;
  std::string body;
};

Result<InvokeWords> read_invoke_words(const std::vector<std::string>& args) {
  InvokeWords words;
  std::string body_fd;
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(),
                 {{"--json", &words.json}, {"--profile", &words.profile}, {"--body-fd", &body_fd}});
  TRY_OK(take_options(args, options, "invoke"));
  TRY(words.body, read_body_file(body_fd));
  return words;
}

int invoke_failed(const InvokeWords& words, int status, const Error& error) {
  if (was_interrupted()) return kExitInterrupted;
  if (words.json) (void)write_all(STDOUT_FILENO, wire::failure_json(error));
  std::fprintf(stderr, "sandbox-run: %s\n", printable(error.message()).c_str());
  return status;
}

// What the request says is wrong, or the server did not start anything.
int refused_call(const InvokeWords& words, const Refusal& refusal) {
  const bool is_callers = refusal.status == 400 || refusal.status == 413;
  return invoke_failed(
      words, is_callers ? wire::kFunctionFailed : wire::kFunctionNotStarted,
      Error(is_callers ? Errc::kInvalidArgument : Errc::kUnavailable, refusal.message));
}

int show_result(const InvokeWords& words, const std::string& answer) {
  const auto view = wire::view_function(answer);
  if (!view) return invoke_failed(words, wire::kFunctionFailed, view.error());
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
  if (!response) return invoke_failed(words, wire::kFunctionNotStarted, response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_call(words, *refusal);
  return show_result(words, response->body);
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
  if (reader_gone) return was_interrupted() ? kExitInterrupted : 128 + SIGPIPE;
  if (!response) return invoke_failed(words, wire::kFunctionNotStarted, response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_call(words, *refusal);
  if (broken) return invoke_failed(words, wire::kFunctionFailed, *broken);
  const auto answer = events.take_end_text();
  if (!answer) return invoke_failed(words, wire::kFunctionNotStarted, answer.error());
  return show_result(words, *answer);
}

}  // namespace

int invoke_command(const std::vector<std::string>& args) {
  auto words = read_invoke_words(args);
  if (!words) {
    (void)usage_error(words.error().message());
    return wire::kFunctionFailed;
  }
  auto place = find_place(words->place, PlaceSurroundings::here());
  if (!place) return invoke_failed(*words, wire::kFunctionNotStarted, place.error());
  auto api = Api::open(std::move(*place));
  if (!api) return invoke_failed(*words, wire::kFunctionNotStarted, api.error());
  const InterruptibleCall interruptible(*api);
  interrupt_on_signals();
  return words->json ? call_at_once(*api, *words) : call_live(*api, *words);
}

}  // namespace glovebox::client
