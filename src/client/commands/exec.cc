// `glovebox exec ID -- CMD` and `glovebox shell ID`: a program in a sandbox, with our streams or
// our terminal.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>

#include "base/units.h"
#include "client/output/response_fields.h"
#include "client/connection/api_client.h"
#include "client/commands.h"
#include "client/output/print.h"
#include "client/exec/exec_stream.h"
#include "model/outcome.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kExecUsage =
    "usage: glovebox exec [OPTIONS] ID -- CMD [ARG...]\n"
    "       glovebox exec [OPTIONS] ID --shell 'LINE'\n"
    "       glovebox exec --attach PROCESS ID\n"
    "\n"
    "Runs a program in a living sandbox, with this command's input, output and exit status.\n"
    "Ctrl-C is passed on; typed twice, this command ends and the program stays.\n"
    "\n"
    "  --shell LINE           a line for the sandbox's shell instead of a program\n"
    "  --attach PROCESS       the output of a program that runs there already\n"
    "  -t,--terminal          a terminal of its own (Ctrl-P Ctrl-Q detaches)\n"
    "  -d,--detach            start it and leave it; prints its number\n"
    "  --user NAME            as whom (default: user)\n"
    "  --cwd PATH             where (default: the user's home)\n"
    "  --env NAME=VALUE       a variable; again for more\n"
    "  --timeout TIME         kill it after that long\n"
    "  --no-stdin             it has no input\n";
constexpr const char* kShellUsage =
    "usage: glovebox shell [OPTIONS] ID\n"
    "\n"
    "A shell in a living sandbox, on your terminal. Ctrl-P Ctrl-Q detaches: the shell goes on, "
    "and\n"
    "`glovebox shell --attach PROCESS ID` comes back to it.\n"
    "\n"
    "  --attach PROCESS       a terminal that was detached from\n"
    "  --user NAME            as whom (default: user)\n"
    "  --cwd PATH             where (default: the user's home)\n"
    "  --env NAME=VALUE       a variable; again for more\n";
constexpr const char* kExecMore =
    "  --json                 collect, and print one object\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: the program's own (128 + n if a signal ended it, 124 if its time ran out); 2 "
    "bad\n"
    "usage, 125 the server said no or does not answer.\n";
constexpr const char* kShellMore =
    "  --help                 this text\n"
    "\n"
    "Exit status: the shell's own; 0 when detached; 2 bad usage, 125 the server said no or does "
    "not\n"
    "answer.\n";

struct ExecWords {
  PlaceWords place;
  std::string shell;
  std::string attach;
  std::string user;
  std::string cwd;
  std::string timeout;
  std::vector<std::string> env;
  bool terminal = false;
  bool detach = false;
  bool no_stdin = false;
  bool json = false;
  bool help = false;
};

Result<json::object> start_message(const ExecWords& words, std::vector<std::string> argv) {
  json::object start;
  if (!argv.empty()) {
    start["argv"] = json::array(argv.begin(), argv.end());
  } else {
    start["cmd"] = words.shell;
  }
  if (!words.user.empty()) start["user"] = words.user;
  if (!words.cwd.empty()) start["cwd"] = words.cwd;
  json::object env;
  for (const std::string& one : words.env) {
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(Errc::kInvalidArgument, "--env must be NAME=VALUE, not '" + one + "'");
    }
    env[one.substr(0, equals)] = one.substr(equals + 1);
  }
  if (words.terminal) {
    winsize window{};
    const bool known = ::ioctl(STDIN_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_row != 0;
    start["terminal"] =
        json::object{{"rows", known ? window.ws_row : 24}, {"columns", known ? window.ws_col : 80}};
    const char* term = std::getenv("TERM");
    if (!env.contains("TERM")) env["TERM"] = term != nullptr ? term : "xterm";
  }
  if (!env.empty()) start["env"] = std::move(env);
  if (!words.timeout.empty()) {
    auto time = parse_duration(words.timeout);
    if (!time) return fail(std::move(time.error()).context("--timeout"));
    start["timeout_ms"] = time->count();
  }
  return start;
}

// Everything but the stream of it: --json and --detach.
int post_exec(const ExecWords& words, const std::string& id, json::object start) {
  if (words.detach) start["background"] = true;
  http::ClientRequest request{.method = http::Method::kPost,
                              .target = "/v1/sandboxes/" + url_encoded(id) + "/exec",
                              .headers = {},
                              .body = json::serialize(start)};
  auto place = find_place(words.place, PlaceSurroundings::here());
  if (!place) return failure(place.error());
  auto api = Api::open(std::move(*place));
  if (!api) return usage_error(api.error().message());
  const auto response = api->send(std::move(request));
  if (!response) return failure(response.error());
  if (const auto refusal = api->refusal_of(*response)) {
    return failure(Error(Errc::kUnavailable, refusal->message));
  }
  const auto answer = parse_answer(response->body);
  if (!answer) return failure(answer.error());
  if (words.json) {
    std::fwrite(response->body.data(), 1, response->body.size(), stdout);
  } else {
    std::printf("%s\n", printable(shown(*answer, "process")).c_str());
  }
  const json::value* code = answer->if_contains("exit_code");
  return code != nullptr && code->is_int64() ? static_cast<int>(code->get_int64()) : 0;
}

Result<std::string> first_message(const ExecWords& words, std::vector<std::string> argv) {
  if (words.attach.empty()) {
    TRY(json::object start, start_message(words, std::move(argv)));
    start["type"] = "start";
    // As with a local program: it does not outlive whoever reads it, unless that was asked for.
    start["on_disconnect"] = words.terminal ? "keep" : "kill";
    return json::serialize(start);
  }
  TRY(const std::uint64_t process, parse_count(words.attach, "--attach", 1ull << 53));
  return json::serialize(json::object{{"type", "attach"}, {"process", process}});
}

int stream_it(const ExecWords& words, const std::string& id, std::vector<std::string> argv) {
  StreamWish wish;
  wish.sandbox = id;
  auto first = first_message(words, std::move(argv));
  if (!first) return usage_error(first.error().message());
  wish.first = std::move(*first);
  wish.terminal = words.terminal;
  wish.input = !words.no_stdin;
  if (words.terminal && ::isatty(STDIN_FILENO) == 0) {
    return usage_error("there is no terminal here; `glovebox exec` works without one");
  }
  const auto place = find_place(words.place, PlaceSurroundings::here());
  if (!place) {
    return place.error().code() == Errc::kInvalidArgument ? usage_error(place.error().message())
                                                          : failure(place.error());
  }
  const auto end = run_stream(*place, wish);
  if (!end) return failure(end.error());
  if (end->detached) {
    std::fprintf(stderr, "\r\ndetached; `glovebox shell --attach %llu %s` comes back\r\n",
                 static_cast<unsigned long long>(end->process), printable(id).c_str());
    return 0;
  }
  return end->exit_code;
}

std::vector<Option> common_options(ExecWords& words) {
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(), {{"--attach", &words.attach},
                                 {"--user", &words.user},
                                 {"--cwd", &words.cwd},
                                 {"--env", &words.env},
                                 {"--help", &words.help},
                                 {"-h", &words.help}});
  return options;
}

}  // namespace

int exec_command(const std::vector<std::string>& args) {
  // What is behind "--" is the program's, whatever it looks like.
  const auto line = std::find(args.begin(), args.end(), "--");
  const std::vector<std::string> ours(args.begin(), line);
  std::vector<std::string> argv(line == args.end() ? line : line + 1, args.end());
  ExecWords words;
  std::vector<Option> options = common_options(words);
  options.insert(options.end(), {{"--shell", &words.shell},
                                 {"-t", &words.terminal},
                                 {"--terminal", &words.terminal},
                                 {"-d", &words.detach},
                                 {"--detach", &words.detach},
                                 {"--timeout", &words.timeout},
                                 {"--no-stdin", &words.no_stdin},
                                 {"--json", &words.json}});
  const auto rest = take_options(ours, options, "exec");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kExecUsage, kPlaceHelp, kExecMore);
    return 0;
  }
  if (rest->size() != 1) {
    return usage_error("say `glovebox exec ID -- CMD`; see `glovebox exec --help`");
  }
  const int ways =
      (argv.empty() ? 0 : 1) + (words.shell.empty() ? 0 : 1) + (words.attach.empty() ? 0 : 1);
  if (ways != 1) return usage_error("say one of: -- CMD, --shell LINE, --attach PROCESS");
  if (words.json || words.detach) {
    if (!words.attach.empty() || (words.json && words.terminal)) {
      return usage_error("--json and --detach start a program of their own, without a terminal");
    }
    auto start = start_message(words, std::move(argv));
    if (!start) return usage_error(start.error().message());
    return post_exec(words, rest->front(), std::move(*start));
  }
  return stream_it(words, rest->front(), std::move(argv));
}

int shell_command(const std::vector<std::string>& args) {
  ExecWords words;
  const std::vector<Option> options = common_options(words);
  const auto rest = take_options(args, options, "shell");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kShellUsage, kPlaceHelp, kShellMore);
    return 0;
  }
  if (rest->size() != 1) return usage_error("say `glovebox shell ID`; see `glovebox shell --help`");
  words.terminal = true;
  return stream_it(words, rest->front(), {"/bin/bash", "-l"});
}

}  // namespace glovebox::client
