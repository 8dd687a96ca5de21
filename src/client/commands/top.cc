// `glovebox top`: the running sandboxes and their resource usage, updated periodically.
#include <poll.h>
#include <signal.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>

#include "base/percent_encoding.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;
using TopClock = std::chrono::steady_clock;

struct TopOptions {
  ServerLocationOptions server;
  std::string interval = "2";
  std::string limit = "50";
  bool once = false;
  bool json = false;
};

options::CommandLine top_command_line(TopOptions& top) {
  return {
      .name = "glovebox top",
      .usage = {"[OPTIONS]"},
      .description =
          "Show the running sandboxes of your project and their resource usage, sorted by CPU. The "
          "key q ends it.",
      .groups = {{"Options",
                  {{"--once", "", "print once and exit (default if the output is not a terminal)",
                    &top.once},
                   {"--interval", "SECONDS", "time between updates (default: 2)", &top.interval},
                   {"--limit", "N", "show at most N sandboxes (default: 50)", &top.limit},
                   {"--json", "", "print one object per update", &top.json}}},
                 server_location_options(top.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n"};
}

std::string megabytes_text(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::optional<std::uint64_t> counted_field(const json::object& object, const char* name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return number_field(object, name);
}

json::value number_or_null(const std::optional<std::uint64_t>& number) {
  return number ? json::value(*number) : json::value(nullptr);
}

struct CpuSample {
  std::uint64_t cpu_us = 0;
  TopClock::time_point at;
};

struct UsageRow {
  double cpu = -1;  // percent of one CPU; unknown in the first sample, and where nothing counts it
  std::string id, name, state, template_name;
  std::optional<std::uint64_t> memory, processes;  // nothing: not counted on this host
  std::uint64_t memory_limit = 0, disk = 0;
};

// Asks the server for the usage of every sandbox and remembers CPU times between samples.
class UsageSampler {
 public:
  UsageSampler(ApiClient api, std::uint64_t limit) : api_(std::move(api)), limit_(limit) {}

  Result<std::vector<UsageRow>> sample() {
    TRY(const json::object object,
        request_object("/v1/sandboxes?state=running,paused&limit=" +
                       std::to_string(std::min<std::uint64_t>(limit_, 100))));
    TRY(const json::array sandboxes, array_field(object, "sandboxes"));
    std::vector<UsageRow> rows;
    std::map<std::string, CpuSample> now;
    for (const json::value& value : sandboxes) {
      if (!value.is_object()) continue;
      rows.push_back(row_of(value.get_object(), now));
    }
    before_ = std::move(now);
    std::stable_sort(rows.begin(), rows.end(),
                     [](const UsageRow& a, const UsageRow& b) { return a.cpu > b.cpu; });
    return rows;
  }

 private:
  Result<json::object> request_object(std::string target) {
    TRY(const http::ClientResponse response, api_.send(get_request(std::move(target))));
    if (const auto error = api_.error_in(response)) {
      return fail(Errc::kPolicy, error->message);
    }
    return parse_response(response.body);
  }

  UsageRow row_of(const json::object& sandbox, std::map<std::string, CpuSample>& now) {
    UsageRow row;
    row.id = field_text(sandbox, "id");
    row.name = field_text(sandbox, "name");
    row.state = field_text(sandbox, "state");
    row.template_name = field_text(sandbox, "template");
    // What was asked for: the cgroup's own limit has the disk in it as well.
    const json::value* limits = sandbox.if_contains("limits");
    if (limits != nullptr && limits->is_object()) {
      row.memory_limit = number_field(limits->get_object(), "memory_mb") << 20;
    }
    const auto metrics = request_object("/v1/sandboxes/" + percent_encode(row.id) + "/metrics");
    const json::value* figures = metrics ? metrics->if_contains("now") : nullptr;
    if (figures == nullptr || !figures->is_object()) return row;  // the sandbox has just ended
    const json::object& used = figures->get_object();
    row.memory = counted_field(used, "memory_bytes");
    row.disk = number_field(used, "disk_bytes");
    row.processes = counted_field(used, "processes");
    const auto cpu_us = counted_field(used, "cpu_us");
    if (!cpu_us) return row;
    const CpuSample here{*cpu_us, TopClock::now()};
    if (const auto before = before_.find(row.id); before != before_.end()) {
      const double passed =
          std::chrono::duration<double, std::micro>(here.at - before->second.at).count();
      const std::uint64_t used_us =
          here.cpu_us > before->second.cpu_us ? here.cpu_us - before->second.cpu_us : 0;
      row.cpu = passed > 0 ? 100.0 * static_cast<double>(used_us) / passed : 0;
    }
    now[row.id] = here;
    return row;
  }

  ApiClient api_;
  std::uint64_t limit_;
  std::map<std::string, CpuSample> before_;
};

void print_usage_table(const std::vector<UsageRow>& rows) {
  std::vector<std::vector<std::string>> cells = {
      {"ID", "NAME", "STATE", "TEMPLATE", "CPU %", "MEMORY MB", "OF MB", "DISK MB", "PROCESSES"}};
  for (const UsageRow& row : rows) {
    char cpu[16] = "-";
    if (row.cpu >= 0) std::snprintf(cpu, sizeof cpu, "%.1f", row.cpu);
    cells.push_back({row.id, row.name, row.state, row.template_name, cpu,
                     row.memory ? megabytes_text(*row.memory) : "-",
                     megabytes_text(row.memory_limit), megabytes_text(row.disk),
                     row.processes ? std::to_string(*row.processes) : "-"});
  }
  const std::string text = table(cells);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

void print_usage_json(const std::vector<UsageRow>& rows) {
  json::array all;
  for (const UsageRow& row : rows) {
    json::object one{{"id", row.id},
                     {"name", row.name == "-" ? json::value(nullptr) : json::value(row.name)},
                     {"state", row.state},
                     {"template", row.template_name},
                     {"memory_bytes", number_or_null(row.memory)},
                     {"memory_limit_bytes", row.memory_limit},
                     {"disk_bytes", row.disk},
                     {"processes", number_or_null(row.processes)}};
    one["cpu_percent"] = row.cpu >= 0 ? json::value(row.cpu) : json::value(nullptr);
    all.push_back(std::move(one));
  }
  std::printf("%s\n", json::serialize(json::object{{"sandboxes", std::move(all)}}).c_str());
}

volatile sig_atomic_t top_signal = 0;

// Reads single keys from the terminal, without showing them. The destructor restores it; a signal
// that would end this program only ends wait().
class TopKeys {
 public:
  TopKeys() : is_terminal_(::tcgetattr(STDIN_FILENO, &before_) == 0) {
    struct sigaction action {};
    action.sa_handler = [](int signal) { top_signal = signal; };
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
      ::sigaction(signal, &action, nullptr);
    }
    if (!is_terminal_) return;
    termios keys = before_;
    keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &keys);
  }
  ~TopKeys() {
    if (is_terminal_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  TopKeys(const TopKeys&) = delete;
  TopKeys& operator=(const TopKeys&) = delete;

  // False: q was typed, or a signal came.
  bool wait(std::chrono::milliseconds time) {
    const auto until = TopClock::now() + time;
    while (top_signal == 0) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(until - TopClock::now()).count();
      if (left <= 0) return true;
      pollfd event{reads_keys_ ? STDIN_FILENO : -1, POLLIN, 0};
      if (::poll(&event, 1, static_cast<int>(left)) <= 0) continue;
      char key = 0;
      if (::read(STDIN_FILENO, &key, 1) != 1) reads_keys_ = false;
      if (key == 'q' || key == 'Q') return false;
    }
    return false;
  }

 private:
  termios before_{};
  bool is_terminal_;
  bool reads_keys_ = is_terminal_;
};

}  // namespace

int top_command(const std::vector<std::string>& args) {
  TopOptions top;
  options::Arguments arguments;
  if (const auto status = parse_arguments(top_command_line(top), args, arguments)) return *status;
  const auto seconds = options::parse_count(top.interval, "--interval", 3600);
  if (!seconds) return usage_error(seconds.error().message());
  const auto most = options::parse_count(top.limit, "--limit", 100, 1);
  if (!most) return usage_error(most.error().message());
  auto api = ApiClient::connect(top.server);
  if (!api) return usage_error_or_failure(api.error());
  const bool live = ::isatty(STDOUT_FILENO) != 0 && !top.json;
  UsageSampler sampler(std::move(*api), std::max<std::uint64_t>(*most, 1));
  if (top.once || !live) {  // CPU use is a difference, which needs an earlier sample
    (void)sampler.sample();
    const timespec moment{.tv_sec = 0, .tv_nsec = 300'000'000};
    ::nanosleep(&moment, nullptr);
  }
  std::optional<TopKeys> keys;
  if (live && !top.once) keys.emplace();
  while (true) {
    const auto rows = sampler.sample();
    if (!rows) {
      return rows.error().code() == Errc::kPolicy ? server_refused(rows.error().message())
                                                  : failure(rows.error());
    }
    if (live && !top.once) std::printf("\033[H\033[2J");
    top.json ? print_usage_json(*rows) : print_usage_table(*rows);
    std::fflush(stdout);
    if (top.once || (!live && !top.json)) return 0;
    const auto pause = std::chrono::seconds(std::max<std::uint64_t>(*seconds, 1));
    if (!keys) {
      const timespec time{.tv_sec = static_cast<time_t>(pause.count()), .tv_nsec = 0};
      ::nanosleep(&time, nullptr);
    } else if (!keys->wait(pause)) {
      return top_signal == 0 ? 0 : 128 + top_signal;
    }
  }
}

}  // namespace glovebox::client
