// `glovebox runs`: the runs that a server remembers, and one of them with its output.
#include <algorithm>
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

constexpr std::uint64_t kMostRuns = 100'000;
constexpr std::uint64_t kRunsPage = 200;  // the server's largest
constexpr std::string_view kStatuses =
    "ok, failed, timed_out, oom_killed, killed, cancelled, error";

struct RunsOptions {
  ServerLocationOptions server;
  std::string limit = "20";
  std::string status;
  std::string template_name;
  bool output = false;
  bool json = false;
};

options::CommandLine runs_command_line(RunsOptions& runs) {
  return {
      .name = "glovebox runs",
      .usage = "[OPTIONS] [ID]",
      .description =
          "Show the runs of your project that the server remembers, the newest first; with ID (or "
          "the beginning of one) that run with its output. The server keeps the first part of an "
          "output (store.keep_output). Runs without a server are not remembered.",
      .groups = {{"Options",
                  {{"--limit", "N", "show at most N runs (default: 20)", &runs.limit},
                   {"--status", "STATUS",
                    "only runs that ended this way: ok, failed, timed_out, oom_killed, killed, "
                    "cancelled or error",
                    &runs.status},
                   {"--template", "NAME", "only runs of this template", &runs.template_name},
                   {"--output", "", "print the output of each run below it", &runs.output},
                   {"--json", "", "print JSON", &runs.json}}},
                 server_location_options(runs.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n",
      .most_operands = 1};
}

bool is_status(std::string_view word) {
  std::string_view left = kStatuses;
  while (!left.empty()) {
    const std::size_t end = std::min(left.find(", "), left.size());
    if (left.substr(0, end) == word) return true;
    left.remove_prefix(std::min(end + 2, left.size()));
  }
  return false;
}

// Sends requests over one connection. After a failure was printed, `status` is not 0.
class RunReader {
 public:
  explicit RunReader(ApiClient api) : api_(std::move(api)) {}
  int status = 0;

  std::optional<json::object> get(const std::string& target) {
    body_.clear();
    auto response = api_.send(get_request(target));
    if (!response) return failed(failure(response.error()));
    if (const auto error = api_.error_in(*response)) return failed(server_refused(error->message));
    auto object = parse_response(response->body);
    if (!object) return failed(failure(object.error()));
    body_ = std::move(response->body);
    return std::move(*object);
  }
  std::optional<json::object> get_run(const std::string& id) {
    return get("/v1/runs/" + percent_encode(id));
  }
  const std::string& body() const { return body_; }  // of the last response
  ApiClient& api() { return api_; }

 private:
  std::optional<json::object> failed(int with) {
    status = with;
    return std::nullopt;
  }

  ApiClient api_;
  std::string body_;
};

// Text of a guest: control characters stay visible, lines stay lines.
std::string indented(const std::string& text) {
  std::string lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines += "  " + printable(text.substr(begin, end - begin)) + "\n";
    begin = end + 1;
  }
  return lines;
}

std::string output_text(const json::object& run) {
  std::string text;
  for (const char* stream : {"stdout", "stderr"}) {
    const std::string bytes = string_field(run, stream);
    const bool is_cut = field_text(run, std::string(stream) + "_cut") == "true";
    if (bytes.empty() && !is_cut) continue;
    text += std::string(stream) + (is_cut ? " (the first part; the rest was not kept):\n" : ":\n");
    text += indented(bytes);
  }
  return text;
}

std::string milliseconds_text(const json::object& run, std::string_view name) {
  const json::value* value = run.if_contains(name);
  if (value == nullptr || value->is_null()) return "-";  // not counted
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(number_field(run, name)) / 1000.0);
  return text;
}

std::vector<std::string> run_row(const json::object& run) {
  return {field_text(run, "id"),           field_text(run, "started_at"),
          field_text(run, "template"),     field_text(run, "status"),
          field_text(run, "exit_code"),    milliseconds_text(run, "wall_us"),
          milliseconds_text(run, "cpu_us")};
}

int show_run(RunReader& reader, const RunsOptions& runs, const std::string& word) {
  const auto id = resolve_run(reader.api(), word);
  if (!id) {
    return id.error().code() == Errc::kUnavailable ? failure(id.error())
                                                   : server_refused(id.error().message());
  }
  const auto run = reader.get_run(*id);
  if (!run) return reader.status;
  if (runs.json) {
    print(reader.body());
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  for (const char* name : {"id", "status", "exit_code", "template", "language", "engine", "grade",
                           "warm", "started_at", "finished_at", "key_id"}) {
    const std::string text = field_text(*run, name);
    rows.push_back({name, text.empty() ? "-" : text});  // a command has no language
  }
  rows.push_back({"wall_ms", milliseconds_text(*run, "wall_us")});
  rows.push_back({"cpu_ms", milliseconds_text(*run, "cpu_us")});
  const std::string error = field_text(*run, "error");  // may have a traceback
  const std::string error_text = error == "-" || error.empty() ? "" : "error:\n" + indented(error);
  print(table(rows) + error_text + output_text(*run));
  return 0;
}

// At most `most`, from as many pages as that takes.
std::optional<json::array> list_runs(RunReader& reader, const RunsOptions& runs,
                                     std::uint64_t most) {
  json::array all;
  std::string cursor;
  do {
    std::string target = "/v1/runs?limit=" + std::to_string(std::min(most - all.size(), kRunsPage));
    if (!runs.status.empty()) target += "&status=" + percent_encode(runs.status);
    if (!runs.template_name.empty()) target += "&template=" + percent_encode(runs.template_name);
    if (!cursor.empty()) target += "&cursor=" + percent_encode(cursor);
    const auto page = reader.get(target);
    if (!page) return std::nullopt;
    const auto found = array_field(*page, "runs");
    if (!found) {
      reader.status = failure(found.error());
      return std::nullopt;
    }
    for (const json::value& one : *found) {
      if (one.is_object()) all.push_back(one);
    }
    const std::string next = field_text(*page, "next_cursor");
    cursor = next == "-" || next == cursor || found->empty() ? "" : next;
  } while (!cursor.empty() && all.size() < most);
  return all;
}

int print_runs(RunReader& reader, const RunsOptions& runs, std::uint64_t most) {
  auto all = list_runs(reader, runs, most);
  if (!all) return reader.status;
  if (runs.output) {
    for (json::value& one : *all) {
      const auto whole = reader.get_run(field_text(one.get_object(), "id"));
      if (!whole) return reader.status;
      one = *whole;
    }
  }
  if (runs.json) {
    print(json::serialize(json::object{{"runs", std::move(*all)}}) + "\n");
    return 0;
  }
  std::vector<std::vector<std::string>> rows = {
      {"ID", "STARTED", "TEMPLATE", "STATUS", "EXIT", "WALL MS", "CPU MS"}};
  for (const json::value& one : *all) rows.push_back(run_row(one.get_object()));
  const std::string text = table(rows);
  if (!runs.output) {
    print(text);
    return 0;
  }
  std::size_t begin = text.find('\n') + 1;
  print(text.substr(0, begin));
  for (const json::value& one : *all) {
    const std::size_t end = text.find('\n', begin) + 1;
    print(text.substr(begin, end - begin) + output_text(one.get_object()));
    begin = end;
  }
  return 0;
}

}  // namespace

int runs_command(const std::vector<std::string>& args) {
  RunsOptions runs;
  options::Arguments arguments;
  if (const auto status = parse_arguments(runs_command_line(runs), args, arguments)) return *status;
  const auto most = options::parse_count(runs.limit, "--limit", kMostRuns, 1);
  if (!most) return usage_error(most.error().message());
  if (!runs.status.empty() && !is_status(runs.status)) {
    return usage_error("--status must be one of " + std::string(kStatuses) + ", not '" +
                       runs.status.substr(0, 200) + "'");
  }
  auto api = ApiClient::connect(runs.server);
  if (!api) return usage_error_or_failure(api.error());
  RunReader reader(std::move(*api));
  if (!arguments.operands.empty()) return show_run(reader, runs, arguments.operands[0]);
  return print_runs(reader, runs, *most);
}

}  // namespace glovebox::client
