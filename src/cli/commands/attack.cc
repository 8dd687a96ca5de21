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

constexpr const char* kHelp =
    "Attack a sandbox on this very kernel and say, attack by attack, which wall held.\n"
    "usage: glovebox attack [--engine ENGINE] [--only NAME]... [--json] [--list]\n\n"
    "  --engine ENGINE  jail (default) or process\n"
    "  --only NAME      just this attack (may be given again)\n"
    "  --list           print the names and what each aims at\n"
    "  --json           print {\"attacks\":[{\"name\",\"aims_at\",\"held\",\"by\"}]}\n\n"
    "Every attack proves a success harmlessly. Exit status: 0 if all held, 1 if any succeeded or\n"
    "could not be tried, 2 bad usage, 125 Glovebox failed.\n";

struct Options {
  std::string engine{engine::kDefaultEngine};
  std::vector<std::string> only;
  bool json = false;
  bool list = false;
  bool help = false;
};

Result<Options> parse(std::span<const std::string> args) {
  Options options;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& word = args[i];
    const bool has_value = i + 1 < args.size();
    if (word == "--json") {
      options.json = true;
    } else if (word == "--list") {
      options.list = true;
    } else if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--engine" && has_value) {
      options.engine = args[++i];
    } else if (word == "--only" && has_value) {
      options.only.push_back(args[++i]);
    } else {
      return fail(Errc::kInvalidArgument, "attack: unknown option '" + word + "' (see --help)");
    }
  }
  TRY_OK(engine::make_engine(options.engine));
  return options;
}

std::string own_path() {
  char self[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", self, sizeof self);
  return {self, size > 0 ? static_cast<std::size_t>(size) : 0};
}

void print_row(const attack::Verdict& verdict) {
  const char* word = !verdict.counted && verdict.held ? "  -  " : verdict.held ? "held " : "BROKEN";
  std::printf("%-6s %-28s %-44s %s\n", word, verdict.name.c_str(),
              printable(verdict.aims_at).substr(0, 44).c_str(), printable(verdict.by).c_str());
  if (!verdict.held) std::printf("       %s\n", printable(verdict.detail).c_str());
  std::fflush(stdout);
}

int finish(const std::vector<attack::Verdict>& verdicts, bool json) {
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
        "\n%zu attacks held, %zu succeeded or could not be tried, %zu not counted because this "
        "kernel lacks what they need\n",
        held, broken, lacking);
  }
  return broken == 0 ? 0 : 1;
}

}  // namespace

int attack_command(std::span<const std::string> args) {
  auto options = parse(args);
  if (!options) return usage_error(options.error().message());
  if (options->help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  const std::string program = engine::program_path("glovebox-attacks");
  auto runner = attack::AttackRunner::make(
      program, attack::sandboxes_of_program(own_path(), program, options->engine));
  if (!runner) return failure(runner.error());
  for (const std::string& name : options->only) {
    const auto& rows = (*runner)->rows();
    if (std::none_of(rows.begin(), rows.end(),
                     [&](const attack::Row& row) { return row.name == name; })) {
      return usage_error("attack: there is no attack '" + name + "' (see --list)");
    }
  }
  std::vector<attack::Verdict> verdicts;
  for (const attack::Row& row : (*runner)->rows()) {
    if (!options->only.empty() &&
        std::find(options->only.begin(), options->only.end(), row.name) == options->only.end()) {
      continue;
    }
    if (options->list) {
      std::printf("%-28s %s\n", row.name.c_str(), row.aims_at.c_str());
      continue;
    }
    verdicts.push_back((*runner)->judge(row));
    if (!options->json) print_row(verdicts.back());
  }
  return options->list ? 0 : finish(verdicts, options->json);
}

}  // namespace glovebox::cli
