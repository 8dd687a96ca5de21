// `glovebox logs ID`: what has happened in a sandbox, and with --follow what happens.
#include <time.h>

#include <boost/json.hpp>
#include <cstdio>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kLogsUsage =
    "usage: glovebox logs [OPTIONS] ID\n"
    "\n"
    "What has happened in a sandbox: programs started and ended, pauses, contexts that died. "
    "(What\n"
    "a program printed: `glovebox exec --attach PROCESS ID`.)\n"
    "\n"
    "  -f,--follow            go on with what happens, until it ends or Ctrl-C\n"
    "  --limit N              the last N entries (default: all that are kept)\n";
constexpr const char* kLogsHelp =
    "  --json                 print the entries as JSON, one per line\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server answers.\n";

// What is new: all behind the last entry that was shown before, if that is still there.
std::size_t first_new(const json::array& entries, const std::string& last) {
  for (std::size_t i = entries.size(); i > 0; --i) {
    if (json::serialize(entries[i - 1]) == last) return i;
  }
  return 0;
}

void print_event(const json::value& value, bool as_json) {
  if (as_json) {
    std::printf("%s\n", json::serialize(value).c_str());
  } else if (value.is_object()) {
    const json::object& entry = value.get_object();
    const std::string process = shown(entry, "process");
    std::printf("%s  %-10s %s%s\n", printable(shown(entry, "at")).c_str(),
                printable(shown(entry, "kind")).c_str(),
                process == "-" ? "" : ("[" + printable(process) + "] ").c_str(),
                printable(shown(entry, "message")).c_str());
  }
}

}  // namespace

int logs_command(const std::vector<std::string>& args) {
  PlaceWords place;
  std::string limit;
  bool follow = false;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place);
  options.insert(options.end(), {{"-f", &follow},
                                 {"--follow", &follow},
                                 {"--limit", &limit},
                                 {"--json", &is_json},
                                 {"--help", &help},
                                 {"-h", &help}});
  const auto rest = take_options(args, options, "logs");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kLogsUsage, kPlaceHelp, kLogsHelp);
    return 0;
  }
  if (rest->size() != 1) return usage_error("say `glovebox logs ID`; see `glovebox logs --help`");
  std::string target = "/v1/sandboxes/" + url_encoded(rest->front()) + "/logs";
  if (!limit.empty()) {
    const auto count = parse_count(limit, "--limit", 100'000);
    if (!count) return usage_error(count.error().message());
    target += "?limit=" + limit;
  }
  std::string last;
  while (true) {
    const Asked asked =
        ask(place, {.method = http::Method::kGet, .target = target, .headers = {}, .body = {}});
    if (asked.status != 0) return asked.status;
    const auto answer = parse_answer(asked.body);
    if (!answer) return failure(answer.error());
    const auto entries = list_in(*answer, "entries");
    if (!entries) return failure(entries.error());
    for (std::size_t i = first_new(*entries, last); i < entries->size(); ++i) {
      print_event((*entries)[i], is_json);
      last = json::serialize((*entries)[i]);
    }
    std::fflush(stdout);
    if (!follow) return 0;
    const json::value* tail = entries->empty() ? nullptr : &entries->back();
    if (tail != nullptr && tail->is_object()) {
      const std::string kind = shown(tail->get_object(), "kind");
      if (kind == "stopped" || kind == "error") return 0;
    }
    const timespec pause{.tv_sec = 0, .tv_nsec = 500'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace glovebox::client
