// `glovebox logs ID`: the log of a sandbox, and with --follow its new entries.
#include <time.h>

#include <boost/json.hpp>
#include <cstdio>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

// The index of the first entry after `last`, the last entry that was printed; 0 if it is not there.
std::size_t first_new_entry(const json::array& entries, const std::string& last) {
  for (std::size_t i = entries.size(); i > 0; --i) {
    if (json::serialize(entries[i - 1]) == last) return i;
  }
  return 0;
}

void print_log_entry(const json::value& value, bool as_json) {
  if (as_json) {
    std::printf("%s\n", json::serialize(value).c_str());
  } else if (value.is_object()) {
    const json::object& entry = value.get_object();
    const std::string process = field_text(entry, "process");
    std::printf("%s  %-10s %s%s\n", printable(field_text(entry, "at")).c_str(),
                printable(field_text(entry, "kind")).c_str(),
                process == "-" ? "" : ("[" + printable(process) + "] ").c_str(),
                printable(field_text(entry, "message")).c_str());
  }
}

bool is_last_entry_of_sandbox(const json::array& entries) {
  if (entries.empty() || !entries.back().is_object()) return false;
  const std::string kind = field_text(entries.back().get_object(), "kind");
  return kind == "stopped" || kind == "error";
}

}  // namespace

int logs_command(const std::vector<std::string>& args) {
  ServerLocationOptions server;
  std::string limit;
  bool follow = false;
  bool as_json = false;
  const options::CommandLine command{
      .name = "glovebox logs",
      .usage = "[OPTIONS] ID",
      .description =
          "Show the log of a sandbox: programs that started and ended, pauses, contexts that died. "
          "For the output of a program use `glovebox exec --attach PROCESS ID`.",
      .groups =
          {{"Options",
            {{"-f,--follow", "", "print new entries until the sandbox ends or Ctrl-C", &follow},
             {"--limit", "N", "show only the last N entries (default: all that are kept)", &limit},
             {"--json", "", "print each entry as a line of JSON", &as_json}}},
           server_location_options(server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n",
      .most_operands = 1};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  if (arguments.operands.empty()) {
    return usage_error("missing sandbox ID (see `glovebox logs --help`)");
  }
  if (!limit.empty()) {
    const auto count = options::parse_count(limit, "--limit", 100'000);
    if (!count) return usage_error(count.error().message());
  }
  std::string& id = arguments.operands[0];
  if (const auto status = resolve_or_report(server, resolve_sandbox, id)) return *status;
  const std::string target =
      "/v1/sandboxes/" + percent_encode(id) + "/logs" + (limit.empty() ? "" : "?limit=" + limit);
  std::string last;
  while (true) {
    const CommandResponse response = send_and_report(server, get_request(target));
    if (response.status != 0) return response.status;
    const auto object = parse_response(response.body);
    if (!object) return failure(object.error());
    const auto entries = array_field(*object, "entries");
    if (!entries) return failure(entries.error());
    for (std::size_t i = first_new_entry(*entries, last); i < entries->size(); ++i) {
      print_log_entry((*entries)[i], as_json);
      last = json::serialize((*entries)[i]);
    }
    std::fflush(stdout);
    if (!follow || is_last_entry_of_sandbox(*entries)) return 0;
    const timespec pause{.tv_sec = 0, .tv_nsec = 500'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace glovebox::client
