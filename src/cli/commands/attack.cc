#include "cli/commands/attack.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include <boost/json.hpp>

#include "attack/attack_runner.h"
#include "attack/attack_table.h"
#include "cli/print.h"
#include "engine/catalog.h"
#include "engine/launcher_client.h"
#include "model/outcome.h"

namespace glovebox::cli {
namespace {

struct AttackOptions {
  std::string engine{engine::kDefaultEngine};
  std::vector<std::string> only;
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

int report_verdicts(const std::vector<attack::Verdict>& verdicts, bool json) {
  const auto count = [&verdicts](attack::Judgement judgement) {
    return static_cast<std::size_t>(std::count_if(
        verdicts.begin(), verdicts.end(),
        [&](const attack::Verdict& verdict) { return verdict.judgement == judgement; }));
  };
  const std::size_t stopped = count(attack::Judgement::kHeld);
  const std::size_t succeeded = count(attack::Judgement::kBroken);
  const std::size_t not_tried = count(attack::Judgement::kNotTried);
  const std::size_t lacking = count(attack::Judgement::kKernelLacks);
  if (json) {
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
    const boost::json::object counts{{"stopped", stopped},
                                     {"succeeded", succeeded},
                                     {"not-tried", not_tried},
                                     {"kernel-lacks-it", lacking}};
    std::printf("%s\n", boost::json::serialize(
                            boost::json::object{{"attacks", std::move(rows)}, {"counts", counts}})
                            .c_str());
  } else {
    std::printf(
        "\n%zu attacks stopped, %zu succeeded, %zu could not be tried, %zu not counted because "
        "this kernel lacks a feature that they need\n",
        stopped, succeeded, not_tried, lacking);
  }
  return succeeded > 0 ? kSomeSucceeded : not_tried > 0 ? kSomeNotTried : 0;
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
  return report_verdicts(verdicts, options.json);
}

}  // namespace glovebox::cli
