#include "cli/commands/attack.h"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>

#include <boost/json.hpp>

#include "attack/attack_runner.h"
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
                   {"--json", "", "print {\"attacks\":[{\"name\",\"aims_at\",\"held\",\"by\"}]}",
                    &attack.json}}}},
      .notes =
          "Exit status: 0 if all attacks were stopped, 1 if any succeeded or could not be tried,\n"
          "2 bad usage, 125 Glovebox failed.\n"};
}

std::string own_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  return {self, size > 0 ? static_cast<std::size_t>(size) : 0};
}

void print_verdict(const attack::Verdict& verdict) {
  const char* mark = !verdict.counted && verdict.held ? "  -  " : verdict.held ? "held " : "BROKEN";
  std::printf("%-6s %-28s %-44s %s\n", mark, verdict.name.c_str(),
              printable(verdict.aims_at).substr(0, 44).c_str(), printable(verdict.by).c_str());
  if (!verdict.held) std::printf("       %s\n", printable(verdict.detail).c_str());
  std::fflush(stdout);
}

int report_verdicts(const std::vector<attack::Verdict>& verdicts, bool json) {
  std::size_t held = 0;
  std::size_t broken = 0;
  std::size_t lacking = 0;
  boost::json::array rows;
  for (const attack::Verdict& verdict : verdicts) {
    if (!verdict.held)
      ++broken;
    else if (verdict.counted)
      ++held;
    else
      ++lacking;
    rows.push_back({{"name", verdict.name},
                    {"aims_at", verdict.aims_at},
                    {"held", verdict.held},
                    {"by", verdict.by},
                    {"counted", verdict.counted},
                    {"detail", printable(verdict.detail)}});
  }
  if (json) {
    std::printf("%s\n",
                boost::json::serialize(boost::json::object{{"attacks", std::move(rows)}}).c_str());
  } else {
    std::printf(
        "\n%zu attacks stopped, %zu succeeded or could not be tried, %zu not counted because this "
        "kernel lacks a feature that they need\n",
        held, broken, lacking);
  }
  return broken == 0 ? 0 : 1;
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
  auto runner = attack::AttackRunner::make(
      program, attack::sandboxes_of_program(own_path(), program, options.engine));
  if (!runner) return failure(runner.error());
  for (const std::string& name : options.only) {
    const auto& rows = (*runner)->rows();
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const attack::Row& row) { return row.name == name; })) {
      return usage_error("unknown attack '" + name + "' (see `glovebox attack --list`)");
    }
  }
  std::vector<attack::Verdict> verdicts;
  for (const attack::Row& row : (*runner)->rows()) {
    if (!options.only.empty() &&
        std::find(options.only.begin(), options.only.end(), row.name) == options.only.end()) {
      continue;
    }
    if (options.list) {
      std::printf("%-28s %s\n", row.name.c_str(), row.aims_at.c_str());
      continue;
    }
    verdicts.push_back((*runner)->judge(row));
    if (!options.json) print_verdict(verdicts.back());
  }
  return options.list ? 0 : report_verdicts(verdicts, options.json);
}

}  // namespace glovebox::cli
