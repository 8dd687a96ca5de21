#include "cli/commands/attack.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include <boost/json.hpp>

#include "attack/attack_runner.h"
#include "attack/attack_table.h"
#include "attack/kept_report.h"
#include "base/wall_clock.h"
#include "cli/print.h"
#include "cli/version.h"
#include "config/load.h"
#include "engine/catalog.h"
#include "engine/launcher_client.h"
#include "model/outcome.h"

namespace glovebox::cli {
namespace {

struct AttackOptions {
  std::string engine{engine::kDefaultEngine};
  std::vector<std::string> only;
  std::string data_dir;
  bool json = false;
  bool list = false;
};

options::CommandLine attack_command_line(AttackOptions& attack) {
  return {
      .name = "glovebox attack",
      .usage = {"[--engine ENGINE] [--only NAME]... [--json] [--list]"},
      .description =
          "Run attacks against a sandbox on this kernel and report for each which protection "
          "stopped it. An attack that succeeds does no harm.",
      .groups = {{"Options",
                  {{"--engine", "ENGINE", "jail (default) or process", &attack.engine},
                   {"--only", "NAME", "run only this attack (repeatable)", &attack.only},
                   {"--data-dir", "DIR",
                    "data directory of the server whose console shows the report (default: that "
                    "of `glovebox serve`)",
                    &attack.data_dir},
                   {"--list", "", "list the attacks and their targets", &attack.list},
                   {"--json", "",
                    "print {\"attacks\":[{\"name\",\"aims_at\",\"outcome\",\"by\"}],\"counts\"}",
                    &attack.json}}}},
      .notes =
          "Exit status: 0 if all attacks were stopped, 1 if any succeeded, 3 if none succeeded "
          "but\n"
          "some could not be tried (such as those that only root can prepare), 2 bad usage,\n"
          "125 Glovebox failed.\n"};
}

std::string own_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  return {self, size > 0 ? static_cast<std::size_t>(size) : 0};
}

constexpr int kSomeSucceeded = 1;
constexpr int kSomeNotTried = 3;

const char* mark_of(attack::Judgement judgement) {
  switch (judgement) {
    case attack::Judgement::kHeld:
      return "stopped";
    case attack::Judgement::kBroken:
      return "SUCCEEDED";
    case attack::Judgement::kKernelLacks:
      return "-";
    case attack::Judgement::kNotTried:
      break;
  }
  return "not tried";
}

volatile sig_atomic_t g_stop_signal = 0;

// The directory and the processes of the attacks are removed at the end, also when the user or the
// reader of the output does not wait for it. Handlers, because ignored signals would be inherited.
void end_orderly_on_signals() {
  struct sigaction action {};
  action.sa_handler = [](int signal) { g_stop_signal = signal; };
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) {
    (void)::sigaction(signal, &action, nullptr);
  }
}

bool is_chosen(const AttackOptions& options, const attack::AttackRow& row) {
  return options.only.empty() ||
         std::find(options.only.begin(), options.only.end(), row.name) != options.only.end();
}

void print_verdict(const attack::Verdict& verdict) {
  std::printf("%-9s %-28s %-44s %s\n", mark_of(verdict.judgement), verdict.name.c_str(),
              printable(verdict.aims_at).substr(0, 44).c_str(), printable(verdict.by).c_str());
  if (!verdict.held) std::printf("          %s\n", printable(verdict.detail).c_str());
  std::fflush(stdout);
}

struct Counts {
  explicit Counts(const std::vector<attack::Verdict>& verdicts) {
    for (const attack::Verdict& verdict : verdicts) {
      stopped += verdict.judgement == attack::Judgement::kHeld;
      succeeded += verdict.judgement == attack::Judgement::kBroken;
      not_tried += verdict.judgement == attack::Judgement::kNotTried;
      lacking += verdict.judgement == attack::Judgement::kKernelLacks;
    }
  }
  std::size_t stopped = 0;
  std::size_t succeeded = 0;
  std::size_t not_tried = 0;
  std::size_t lacking = 0;
};

boost::json::object report_json(const std::vector<attack::Verdict>& verdicts,
                                const Counts& counts) {
  boost::json::array rows;
  for (const attack::Verdict& verdict : verdicts) {
    rows.push_back({{"name", verdict.name},
                    {"aims_at", verdict.aims_at},
                    {"outcome", attack::judgement_name(verdict.judgement)},
                    {"held", verdict.held},
                    {"by", verdict.by},
                    {"counted", verdict.counted},
                    {"detail", printable(verdict.detail)}});
  }
  return {{"attacks", std::move(rows)},
          {"counts",
           {{"stopped", counts.stopped},
            {"succeeded", counts.succeeded},
            {"not-tried", counts.not_tried},
            {"kernel-lacks-it", counts.lacking}}}};
}

int report_verdicts(const std::vector<attack::Verdict>& verdicts, bool json) {
  const Counts counts(verdicts);
  if (json) {
    std::printf("%s\n", boost::json::serialize(report_json(verdicts, counts)).c_str());
  } else {
    std::printf(
        "\n%zu attacks stopped, %zu succeeded, %zu could not be tried, %zu not counted because "
        "this kernel lacks a feature that they need\n",
        counts.stopped, counts.succeeded, counts.not_tried, counts.lacking);
  }
  return counts.succeeded > 0 ? kSomeSucceeded : counts.not_tried > 0 ? kSomeNotTried : 0;
}

// For the console of the server on this host. The attacks are over: what goes wrong here changes
// nothing about their outcome.
void keep_for_console(const std::vector<attack::Verdict>& verdicts, const AttackOptions& options) {
  std::string data_dir = options.data_dir;
  if (data_dir.empty()) {
    const auto environment = config::ProcessEnvironment::current();
    const auto loaded = config::load(config::SettingFlags(), environment);
    data_dir = loaded ? loaded->settings.data_dir : environment.data_dir;
  }
  boost::json::object report = report_json(verdicts, Counts(verdicts));
  report["at"] = utc_text(wall_clock_ms());
  report["engine"] = options.engine;
  report["version"] = kVersion;
  const auto kept = attack::keep_report(data_dir, boost::json::serialize(report) + "\n");
  if (!kept) {
    std::fprintf(stderr, "glovebox: the console will not show this report: %s\n",
                 printable(kept.error().message()).c_str());
  } else if (!options.json && *kept) {
    std::printf("The console of the server in %s shows this report under Security.\n",
                printable(data_dir).c_str());
  }
}

}  // namespace

int attack_command(std::span<const std::string> args) {
  AttackOptions options;
  options::Arguments arguments;
  if (const auto status = parse_arguments(attack_command_line(options), args, arguments)) {
    return *status;
  }
  if (const auto engine = engine::make_engine(options.engine); !engine) {
    return usage_error(engine.error().message());
  }
  const std::string program = engine::program_path("glovebox-attacks");
  const auto rows = attack::load_table(program);
  if (!rows) return failure(rows.error());
  for (const std::string& name : options.only) {
    if (std::none_of(rows->begin(), rows->end(),
                     [&](const attack::AttackRow& row) { return row.name == name; })) {
      return usage_error("unknown attack '" + name + "' (see `glovebox attack --list`)");
    }
  }
  if (options.list) {
    for (const attack::AttackRow& row : *rows) {
      if (is_chosen(options, row)) {
        std::printf("%-28s %s\n", row.name.c_str(), row.aims_at.c_str());
      }
    }
    return 0;
  }
  end_orderly_on_signals();
  auto runner = attack::AttackRunner::make(
      program, attack::sandboxes_of_program(own_path(), program, options.engine));
  if (!runner) return failure(runner.error());
  std::vector<attack::Verdict> verdicts;
  for (const attack::AttackRow& row : *rows) {
    if (!is_chosen(options, row)) continue;
    verdicts.push_back((*runner)->judge(row));
    if (!options.json) print_verdict(verdicts.back());
    if (g_stop_signal != 0) return 128 + g_stop_signal;
  }
  const int status = report_verdicts(verdicts, options.json);
  // A part is no report on this host.
  if (options.only.empty()) keep_for_console(verdicts, options);
  return status;
}

}  // namespace glovebox::cli
