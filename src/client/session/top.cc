// `glovebox top`: the living sandboxes and what they use, again and again.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <map>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

constexpr const char* kTopUsage =
    "usage: glovebox top [OPTIONS]\n"
    "\n"
    "The living sandboxes of your project and what they use, those with the most CPU first.\n"
    "\n"
    "  --once                 once, and end (also when the output is no terminal)\n"
    "  --interval SECONDS     how long between two looks (default: 2)\n"
    "  --limit N              look at N sandboxes at most (default: 50)\n";
constexpr const char* kTopHelp =
    "  --json                 print one object per look\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server answers.\n";

std::uint64_t number_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr) return 0;
  if (value->is_uint64()) return value->get_uint64();
  return value->is_int64() && value->get_int64() > 0
             ? static_cast<std::uint64_t>(value->get_int64())
             : 0;
}

std::string megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

struct Before {
  std::uint64_t cpu_us = 0;
  Clock::time_point at;
};

struct Row {
  double cpu = -1;  // percent of one CPU; unknown at the first look
  std::string id, state, template_name;
  std::uint64_t memory = 0, memory_limit = 0, disk = 0, processes = 0;
};

class Top {
 public:
  Top(Api api, std::uint64_t limit) : api_(std::move(api)), limit_(limit) {}

  Result<std::vector<Row>> look() {
    http::ClientRequest request;
    request.target = "/v1/sandboxes?state=running,paused&limit=" +
                     std::to_string(std::min<std::uint64_t>(limit_, 100));
    TRY(const json::object answer, ask_for(std::move(request)));
    TRY(const json::array sandboxes, list_in(answer, "sandboxes"));
    std::vector<Row> rows;
    std::map<std::string, Before> now;
    for (const json::value& value : sandboxes) {
      if (!value.is_object()) continue;
      rows.push_back(row_of(value.get_object(), now));
    }
    before_ = std::move(now);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.cpu > b.cpu; });
    return rows;
  }

 private:
  Result<json::object> ask_for(http::ClientRequest request) {
    TRY(const http::ClientResponse response, api_.send(std::move(request)));
    if (const auto refusal = api_.refusal_of(response)) {
      return fail(Errc::kPolicy, refusal->message);
    }
    return parse_answer(response.body);
  }

  Row row_of(const json::object& sandbox, std::map<std::string, Before>& now) {
    Row row;
    row.id = shown(sandbox, "id");
    row.state = shown(sandbox, "state");
    row.template_name = shown(sandbox, "template");
    http::ClientRequest request;
    request.target = "/v1/sandboxes/" + url_encoded(row.id) + "/metrics";
    const auto metrics = ask_for(std::move(request));
    const json::value* figures = metrics ? metrics->if_contains("now") : nullptr;
    if (figures == nullptr || !figures->is_object()) return row;  // it has just ended
    const json::object& used = figures->get_object();
    row.memory = number_in(used, "memory_bytes");
    row.memory_limit = number_in(used, "memory_limit_bytes");
    row.disk = number_in(used, "disk_bytes");
    row.processes = number_in(used, "processes");
    const Before here{number_in(used, "cpu_us"), Clock::now()};
    if (const auto before = before_.find(row.id); before != before_.end()) {
      const double passed =
          std::chrono::duration<double, std::micro>(here.at - before->second.at).count();
      const std::uint64_t burnt =
          here.cpu_us > before->second.cpu_us ? here.cpu_us - before->second.cpu_us : 0;
      row.cpu = passed > 0 ? 100.0 * static_cast<double>(burnt) / passed : 0;
    }
    now[row.id] = here;
    return row;
  }

  Api api_;
  std::uint64_t limit_;
  std::map<std::string, Before> before_;
};

void print_table(const std::vector<Row>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"ID", "STATE", "TEMPLATE", "CPU %", "MEMORY MB", "OF MB", "DISK MB", "PROCESSES"}};
  for (const Row& row : rows) {
    char cpu[16] = "-";
    if (row.cpu >= 0) std::snprintf(cpu, sizeof cpu, "%.1f", row.cpu);
    cells.push_back({row.id, row.state, row.template_name, cpu, megabytes(row.memory),
                     megabytes(row.memory_limit), megabytes(row.disk),
                     std::to_string(row.processes)});
  }
  const std::string text = table(cells);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_json(const std::vector<Row>& rows) {
  json::array all;
  for (const Row& row : rows) {
    json::object one{{"id", row.id},
                     {"state", row.state},
                     {"template", row.template_name},
                     {"memory_bytes", row.memory},
                     {"memory_limit_bytes", row.memory_limit},
                     {"disk_bytes", row.disk},
                     {"processes", row.processes}};
    one["cpu_percent"] = row.cpu >= 0 ? json::value(row.cpu) : json::value(nullptr);
    all.push_back(std::move(one));
  }
  std::printf("%s\n", json::serialize(json::object{{"sandboxes", std::move(all)}}).c_str());
}

}  // namespace

int top_command(const std::vector<std::string>& args) {
  PlaceWords place_words;
  std::string interval = "2";
  std::string limit = "50";
  bool once = false;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place_words);
  options.insert(options.end(), {{"--once", &once},
                                 {"--interval", &interval},
                                 {"--limit", &limit},
                                 {"--json", &is_json},
                                 {"--help", &help},
                                 {"-h", &help}});
  const auto rest = take_options(args, options, "top");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kTopUsage, kPlaceHelp, kTopHelp);
    return 0;
  }
  if (!rest->empty()) return usage_error("`glovebox top` takes no '" + rest->front() + "'");
  const auto seconds = parse_count(interval, "--interval", 3600);
  if (!seconds) return usage_error(seconds.error().message());
  const auto most = parse_count(limit, "--limit", 100);
  if (!most) return usage_error(most.error().message());
  auto place = find_place(place_words, PlaceSurroundings::here());
  if (!place) return failure(place.error());
  auto api = Api::open(std::move(*place));
  if (!api) return usage_error(api.error().message());
  const bool live = ::isatty(STDOUT_FILENO) != 0 && !is_json;
  Top top(std::move(*api), std::max<std::uint64_t>(*most, 1));
  if (once || !live) {  // what is used is a difference: a first look to compare with
    (void)top.look();
    const timespec moment{.tv_sec = 0, .tv_nsec = 300'000'000};
    ::nanosleep(&moment, nullptr);
  }
  while (true) {
    const auto rows = top.look();
    if (!rows) {
      return rows.error().code() == Errc::kPolicy ? refused(rows.error().message())
                                                  : failure(rows.error());
    }
    if (live && !once) std::printf("\033[H\033[2J");
    is_json ? print_json(*rows) : print_table(*rows);
    std::fflush(stdout);
    if (once || (!live && !is_json)) return 0;
    const timespec pause{.tv_sec = static_cast<time_t>(std::max<std::uint64_t>(*seconds, 1)),
                         .tv_nsec = 0};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace glovebox::client
