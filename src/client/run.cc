// `glovebox run --server`: the front has read the options and made them the body of POST /v1/run,
// which waits in a descriptor of ours; here it is sent, and what comes back is shown as a local run
// would.
//
//   glovebox-server run --body-fd N [--url URL | --private] [--json] [/guest/file:host/file ...]
//
// With --private on a server of its own, which ends with it: packages are installed there, and
// stay.
#include <signal.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/write_all.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/body_file.h"
#include "client/build_progress.h"
#include "client/commands.h"
#include "client/interrupt.h"
#include "client/print.h"
#include "client/private_server.h"
#include "client/run_answer.h"
#include "client/run_events.h"
#include "client/run_files.h"
#include "model/outcome.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

struct RunWords {
  PlaceWords place;
  bool json = false;
  bool is_private = false;
  std::string body;
  std::vector<OutFile> files;
};

Result<RunWords> read_run_words(const std::vector<std::string>& args) {
  RunWords words;
  std::string body_fd;
  std::vector<Option> options = place_options(words.place);
  options.insert(
      options.end(),
      {{"--json", &words.json}, {"--private", &words.is_private}, {"--body-fd", &body_fd}});
  TRY(const std::vector<std::string> rest, take_options(args, options, "run"));
  for (const std::string& word : rest) {
    TRY(OutFile file, parse_out_file(word));
    words.files.push_back(std::move(file));
  }
  TRY(words.body, read_body_file(body_fd));
  return words;
}

int run_failed(const RunWords& words, const std::string& code, const Error& error) {
  if (was_interrupted()) return kExitInterrupted;
  if (words.json) (void)write_all(STDOUT_FILENO, failure_text(code, error));
  return failure(error);
}

int refused_run(const RunWords& words, const Refusal& refusal) {
  return run_failed(words, refusal.code, Error(Errc::kUnavailable, refusal.message));
}

int finish(const RunWords& words, const json::object& answer) {
  const int status = exit_code_of(answer);
  const auto copied = copy_out(answer, words.files);
  if (words.json) {
    if (!write_all(STDOUT_FILENO, answer_text(answer))) return kExitGloveboxFailed;
  } else {
    std::fputs(remarks(answer).c_str(), stderr);
  }
  if (copied) return status;
  // Said in any case; but a program's own trouble is the better explanation of it.
  const int said = failure(copied.error());
  return status == 0 ? said : status;
}

int run_at_once(Api& api, RunWords& words) {
  auto response = api.send({.method = http::Method::kPost,
                            .target = "/v1/run",
                            .headers = {{"Accept", "application/json"}},
                            .body = std::move(words.body)});
  if (!response) return run_failed(words, "", response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_run(words, *refusal);
  const auto answer = parse_answer(response->body);
  if (!answer) return run_failed(words, "", answer.error());
  return finish(words, *answer);
}

int run_live(Api& api, RunWords& words) {
  bool reader_gone = false;
  BuildProgress progress;
  RunEvents events(
      [&](bool is_stderr, std::string_view bytes) {
        reader_gone = !write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, bytes);
        return !reader_gone;
      },
      [&](std::string_view phase, std::string_view text) {
        (void)write_all(STDERR_FILENO, progress.add(phase, text));
      });
  std::optional<Error> broken;
  auto response = api.stream({.method = http::Method::kPost,
                              .target = "/v1/run",
                              .headers = {{"Accept", "application/x-ndjson"}},
                              .body = std::move(words.body)},
                             [&](std::string_view piece) {
                               const auto goes_on = events.add(piece);
                               if (!goes_on) broken = goes_on.error();
                               return goes_on && *goes_on;
                             });
  // A local program would have died of the signal for that.
  if (reader_gone) return was_interrupted() ? kExitInterrupted : 128 + SIGPIPE;
  if (!response) return run_failed(words, "", response.error());
  if (const auto refusal = api.refusal_of(*response)) return refused_run(words, *refusal);
  if (broken) return run_failed(words, "", *broken);
  const auto answer = events.take_end();
  if (!answer) {
    const bool is_of_packages = events.failure_code() == "dependencies_failed";
    return is_of_packages ? run_failed(words, events.failure_code(),
                                       Error(Errc::kUnavailable,
                                             progress.failure_words(answer.error().message())))
                          : run_failed(words, events.failure_code(), answer.error());
  }
  return finish(words, *answer);
}

}  // namespace

int run_command(const std::vector<std::string>& args) {
  auto words = read_run_words(args);
  if (!words) return usage_error(words.error().message());
  interrupt_on_signals();
  std::unique_ptr<PrivateServer> server;
  if (words->is_private) {
    auto started = PrivateServer::start({}, PrivateServer::Log::kKept);
    if (!started) return run_failed(*words, "", started.error());
    server = std::move(*started);
    if (was_interrupted()) return kExitInterrupted;
  }
  auto place =
      server ? Result<Place>(server->place()) : find_place(words->place, PlaceSurroundings::here());
  if (!place) {
    if (place.error().code() == Errc::kInvalidArgument) return usage_error(place.error().message());
    return run_failed(*words, "", place.error());
  }
  auto api = Api::open(std::move(*place));
  if (!api) return usage_error(api.error().message());
  const int status = [&] {
    const InterruptibleCall interruptible(*api);
    return words->json ? run_at_once(*api, *words) : run_live(*api, *words);
  }();
  if (server && !was_interrupted() && server->has_ended()) {
    std::fprintf(stderr, "glovebox: the private server has ended: %s\n",
                 server->last_error().c_str());
  }
  return status;
}

}  // namespace glovebox::client
