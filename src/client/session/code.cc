// `glovebox code ID`: code in a live context of a sandbox, from the command line, a file, or typed
// line by line.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <boost/json.hpp>
#include <cstdio>
#include <thread>

#include "base/units.h"
#include "base/write_all.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"
#include "client/run_answer.h"
#include "client/run_events.h"
#include "client/session/repl_lines.h"
#include "model/outcome.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kCodeUsage =
    "usage: glovebox code [OPTIONS] ID\n"
    "       glovebox code [OPTIONS] -c CODE ID\n"
    "\n"
    "Code in a live context of a sandbox: variables, imports and open files stay from one piece "
    "to\n"
    "the next. Typed line by line at a terminal, else read from standard input as one piece.\n"
    "Ctrl-C stops what runs and keeps the state; Ctrl-D ends.\n"
    "\n"
    "  -c,--code CODE         run this and end\n"
    "  --language NAME        python (the default), bash or javascript\n"
    "  --context ID           a context that is there already; else the language's own one with "
    "-c,\n"
    "                         and a new one, removed at the end, at a terminal\n"
    "  --timeout TIME         for each piece\n";
constexpr const char* kCodeHelp =
    "  --json                 print each answer as one object\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0, or that of the last piece of code; 2 bad usage, 125 the server said no or "
    "does\n"
    "not answer.\n";

struct CodeWords {
  PlaceWords place;
  std::string code;
  std::string language = "python";
  std::string context;
  std::string timeout;
  bool json = false;
  bool help = false;
};

// Passes Ctrl-C on to the context while something runs there. A thread of its own, because the
// answer is being waited for; SIGINT is blocked everywhere else.
class Interrupter {
 public:
  Interrupter(const Place& place, std::string target)
      : place_(place), target_(std::move(target)), thread_([this] { wait(); }) {}
  ~Interrupter() {
    over_ = true;
    ::pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  std::atomic<bool> running{false};

 private:
  void wait() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGUSR1);
    int signal = 0;
    while (::sigwait(&set, &signal) == 0 && !over_) {
      if (signal != SIGINT || !running) continue;
      auto api = Api::open(place_);
      http::ClientRequest request;
      request.method = http::Method::kPost;
      request.target = target_;
      if (api) (void)api->send(std::move(request));
    }
  }

  Place place_;
  std::string target_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

void block_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

class Coder {
 public:
  Coder(Api api, const CodeWords& words, std::string sandbox)
      : api_(std::move(api)),
        words_(words),
        base_("/v1/sandboxes/" + url_encoded(sandbox)),
        context_(words.context) {}

  Result<> make_context() {
    http::ClientRequest request;
    request.method = http::Method::kPost;
    request.target = base_ + "/contexts";
    request.body = json::serialize(json::object{{"language", words_.language}});
    TRY(const http::ClientResponse response, api_.send(std::move(request)));
    TRY_OK(check(response));
    TRY(const json::object answer, parse_answer(response.body));
    context_ = shown(answer, "id");
    warm_ = shown(answer, "warm") == "true";
    return {};
  }
  void remove_context() {
    http::ClientRequest request;
    request.method = http::Method::kDelete;
    request.target = base_ + "/contexts/" + url_encoded(context_);
    (void)api_.send(std::move(request));
  }
  std::string interrupt_target() const {
    return base_ + "/contexts/" + url_encoded(context_) + "/interrupt";
  }
  bool warm() const { return warm_; }

  // The exit status of the code.
  Result<int> run(const std::string& code) {
    json::object body{{"code", code}};
    if (!context_.empty()) body["context"] = context_;
    if (context_.empty()) body["language"] = words_.language;
    if (timeout_ms != 0) body["timeout_ms"] = timeout_ms;
    http::ClientRequest request;
    request.method = http::Method::kPost;
    request.target = base_ + "/code";
    request.body = json::serialize(body);
    return words_.json ? run_whole(std::move(request)) : run_live(std::move(request));
  }
  std::uint64_t timeout_ms = 0;

 private:
  Result<> check(const http::ClientResponse& response) const {
    if (const auto refusal = api_.refusal_of(response)) {
      return fail(Errc::kUnavailable, refusal->message);
    }
    return {};
  }

  Result<int> run_whole(http::ClientRequest request) {
    TRY(const http::ClientResponse response, api_.send(std::move(request)));
    TRY_OK(check(response));
    TRY_OK(write_all(STDOUT_FILENO, response.body));
    TRY(const json::object answer, parse_answer(response.body));
    return exit_code_of(answer);
  }

  Result<int> run_live(http::ClientRequest request) {
    request.headers = {{"Accept", "application/x-ndjson"}};
    RunEvents events([](bool is_stderr, std::string_view bytes) {
      return write_all(is_stderr ? STDERR_FILENO : STDOUT_FILENO, bytes).has_value();
    });
    std::optional<Error> broken;
    TRY(const http::ClientResponse response,
        api_.stream(std::move(request), [&](std::string_view piece) {
          const auto goes_on = events.add(piece);
          if (!goes_on) broken = goes_on.error();
          return goes_on && *goes_on;
        }));
    TRY_OK(check(response));
    if (broken) return fail(std::move(*broken));
    TRY(const json::object answer, events.take_end());
    const std::string value = shown(answer, "result", "text/plain");
    if (value != "-") TRY_OK(write_all(STDOUT_FILENO, value + "\n"));
    if (shown(answer, "restarted") == "true") {
      TRY_OK(write_all(STDERR_FILENO, "glovebox: the context died; a new, empty one is there\n"));
    }
    return exit_code_of(answer);
  }

  Api api_;
  const CodeWords& words_;
  std::string base_;
  std::string context_;
  bool warm_ = false;
};

// A line of standard input; none at its end.
std::optional<std::string> read_line() {
  std::string line;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return line;
    line += static_cast<char>(c);
  }
  if (line.empty()) return std::nullopt;
  return line;
}

int converse(Coder& coder, const Place& place, const CodeWords& words) {
  const bool own = words.context.empty();
  if (own) {
    if (auto made = coder.make_context(); !made) return failure(made.error());
    std::fprintf(stderr, "%s, %s; Ctrl-D ends\n", printable(words.language).c_str(),
                 coder.warm() ? "warm" : "cold");
  }
  int status = 0;
  {
    Interrupter interrupter(place, coder.interrupt_target());
    ReplLines lines(words.language);
    while (true) {
      std::fprintf(stderr, "%s", lines.empty() ? ">>> " : "... ");
      const auto line = read_line();
      if (!line) break;
      if (!lines.add(*line)) continue;
      interrupter.running = true;
      const auto ran = coder.run(lines.take());
      interrupter.running = false;
      if (!ran) {
        status = failure(ran.error());
        break;
      }
      status = *ran;
    }
  }
  std::fprintf(stderr, "\n");
  if (own) coder.remove_context();
  return status;
}

std::string read_all() {
  std::string text;
  for (int c = std::getchar(); c != EOF; c = std::getchar()) text += static_cast<char>(c);
  return text;
}

}  // namespace

int code_command(const std::vector<std::string>& args) {
  CodeWords words;
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(), {{"-c", &words.code},
                                 {"--code", &words.code},
                                 {"--language", &words.language},
                                 {"--context", &words.context},
                                 {"--timeout", &words.timeout},
                                 {"--json", &words.json},
                                 {"--help", &words.help},
                                 {"-h", &words.help}});
  const auto rest = take_options(args, options, "code");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kCodeUsage, kPlaceHelp, kCodeHelp);
    return 0;
  }
  if (rest->size() != 1) return usage_error("say `glovebox code ID`; see `glovebox code --help`");
  auto place = find_place(words.place, PlaceSurroundings::here());
  if (!place) return failure(place.error());
  auto api = Api::open(*place);
  if (!api) return usage_error(api.error().message());
  Coder coder(std::move(*api), words, rest->front());
  if (!words.timeout.empty()) {
    const auto time = parse_duration(words.timeout);
    if (!time) return usage_error("--timeout: " + time.error().message());
    coder.timeout_ms = static_cast<std::uint64_t>(time->count());
  }
  const bool typed = words.code.empty() && ::isatty(STDIN_FILENO) != 0;
  if (typed) {
    block_signals();
    return converse(coder, *place, words);
  }
  const auto ran = coder.run(words.code.empty() ? read_all() : words.code);
  if (!ran) return failure(ran.error());
  return *ran;
}

}  // namespace glovebox::client
