#include "cli/commands.h"

#include <cstdio>
#include <string_view>
#include <vector>

#include "base/nearest.h"
#include "cli/client_program.h"
#include "cli/commands/attack.h"
#include "cli/commands/completion.h"
#include "cli/commands/config.h"
#include "cli/commands/doctor.h"
#include "cli/commands/run.h"
#include "cli/commands/serve.h"
#include "cli/commands/template.h"
#include "cli/print.h"
#include "cli/version.h"
#include "model/outcome.h"

namespace glovebox::cli {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(std::span<const std::string> args);
};

int version_command(std::span<const std::string>) {
  std::printf("glovebox %s\n", kVersion);
  return 0;
}

int bench_command(std::span<const std::string> args) { return exec_bench_program(args); }

// Commands without a function are in glovebox-client, under the same name.
constexpr Command kCommands[] = {
    {"run", "Run code in a fresh sandbox", run_command},
    {"serve", "Start a server and keep it running", serve_command},
    {"sandbox", "Create, list, pause, snapshot and end persistent sandboxes", nullptr},
    {"exec", "Run a program in a sandbox", nullptr},
    {"shell", "Open a shell in a sandbox", nullptr},
    {"cp", "Copy files into or out of a sandbox", nullptr},
    {"code", "Run code in a persistent context of a sandbox", nullptr},
    {"logs", "Show the log of a sandbox", nullptr},
    {"top", "Show running sandboxes and their resource usage", nullptr},
    {"mcp", "Serve tools for an AI assistant (Model Context Protocol)", nullptr},
    {"config", "Print every setting of `serve` and its origin", config_command},
    {"key", "Create, show, list and revoke the keys of a server", nullptr},
    {"template", "List, create, delete and check templates", template_command},
    {"layers", "List, build, check and prune installed package sets", nullptr},
    {"gc", "Remove expired records of a server now", nullptr},
    {"bench", "Measure a server beside bwrap, runc and docker", bench_command},
    {"doctor", "Check what this host supports and how to fix what is missing", doctor_command},
    {"attack", "Run attacks against a sandbox and report what stopped them", attack_command},
    {"completion", "Print a completion script for bash, zsh or fish", completion_command},
    {"version", "Print the version", version_command},
};

void print_help() {
  std::printf(
      "Glovebox runs untrusted code in a fresh sandbox.\n\n"
      "usage: glovebox COMMAND [OPTIONS]\n\n");
  for (const Command& command : kCommands) {
    std::printf("  %-10.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                static_cast<int>(command.summary.size()), command.summary.data());
  }
  std::printf(
      "\nSee `glovebox COMMAND --help` for the options of a command. Try:\n"
      "  glovebox run -c 'print(1+1)'\n");
}

std::string unknown_command_message(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  const std::string_view near = nearest(name, names);
  return "unknown command '" + name + "'" +
         (near.empty() ? "" : "; did you mean '" + std::string(near) + "'?") +
         " (see `glovebox --help`)";
}

}  // namespace

int run_command_line(std::span<const std::string> args) {
  if (args.empty()) {
    print_help();
    return kExitUsage;
  }
  const std::string& name = args[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  if (name == "--version") return version_command({});
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    if (command.run == nullptr) return exec_client_program(name, args.subspan(1));
    return command.run(args.subspan(1));
  }
  return usage_error(unknown_command_message(name));
}

}  // namespace glovebox::cli
