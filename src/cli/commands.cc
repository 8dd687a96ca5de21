#include "cli/commands.h"

#include <cstdio>
#include <string_view>

#include "cli/commands/attack.h"
#include "cli/commands/completion.h"
#include "cli/commands/config.h"
#include "cli/commands/doctor.h"
#include "cli/commands/run.h"
#include "cli/commands/serve.h"
#include "cli/commands/template.h"
#include "cli/print.h"
#include "cli/client_program.h"
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

constexpr Command kCommands[] = {
    {"run", "Run code in a fresh sealed sandbox", run_command},
    {"serve", "Serve the API, and keep what it needs running", serve_command},
    {"sandbox", "Make, list, pause, copy and end sandboxes that live", sandbox_command},
    {"exec", "Run a program in a living sandbox", exec_command},
    {"shell", "A terminal in a living sandbox", shell_command},
    {"cp", "Copy files into a sandbox and out of it", copy_command},
    {"code", "Run code in a live context, piece by piece", code_command},
    {"logs", "What has happened in a sandbox", logs_command},
    {"top", "The living sandboxes and what they use", top_command},
    {"mcp", "Tools for an assistant, by the Model Context Protocol", mcp_command},
    {"config", "Print every setting of `serve` and where it comes from", config_command},
    {"key", "Make, show, list and revoke the keys of a server", key_command},
    {"template", "What sandboxes can be made of; check a file", template_command},
    {"layers", "Sets of packages that were installed: list, build, prune", layers_command},
    {"gc", "Tell a server to remove what is past its retention", gc_command},
    {"bench", "Measure a server beside bwrap, runc and docker", bench_command},
    {"doctor", "Say what this host offers, and what to do about each gap", doctor_command},
    {"attack", "Attack a sandbox on this very kernel and say which wall held", attack_command},
    {"completion", "Print a completion script for bash, zsh or fish", completion_command},
    {"version", "Print the version", version_command},
};

void print_help() {
  std::printf(
      "Glovebox runs code nobody has read, in a fresh sealed sandbox.\n\n"
      "usage: glovebox COMMAND [OPTIONS]\n\n");
  for (const Command& command : kCommands) {
    std::printf("  %-10.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                static_cast<int>(command.summary.size()), command.summary.data());
  }
  std::printf(
      "\n`glovebox COMMAND --help` says more. A first try:  glovebox run -c 'print(1+1)'\n");
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
    if (command.name == name) return command.run(args.subspan(1));
  }
  return usage_error("unknown command '" + name + "'; `glovebox --help` lists them");
}

}  // namespace glovebox::cli
