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
#include "cli/function_run.h"
#include "cli/print.h"
#include "cli/version.h"
#include "model/outcome.h"
#include "options/help_text.h"
#include "options/man_page.h"

namespace glovebox::cli {
namespace {

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(std::span<const std::string> args);
};

int version_command(std::span<const std::string> args) {
  const options::CommandLine command{.name = "glovebox version",
                                     .description = "Print the version."};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  std::printf("glovebox %s\n", kVersion);
  return 0;
}

int bench_command(std::span<const std::string> args) { return exec_bench_program(args); }

// Commands without a function are in glovebox-client, under the same name.
constexpr Command kCommands[] = {
    {"run", "Run code in a fresh sandbox", run_command},
    {"runs", "Show earlier runs of a server, with their output", nullptr},
    {"serve", "Start a server and keep it running", serve_command},
    {"sandbox", "Create, list, pause, snapshot and end persistent sandboxes", nullptr},
    {"exec", "Run a program in a sandbox", nullptr},
    {"shell", "Open a shell in a sandbox", nullptr},
    {"cp", "Copy files into or out of a sandbox", nullptr},
    {"code", "Run code in a persistent context of a sandbox", nullptr},
    {"logs", "Show the log of a sandbox", nullptr},
    {"top", "Show running sandboxes and their resource usage", nullptr},
    {"mcp", "Serve tools for an AI assistant (Model Context Protocol)", nullptr},
    {"console", "Open the console of a server in a browser", nullptr},
    {"config", "Print every setting of `serve` and its origin", config_command},
    {"key", "Create, show, list and revoke the keys of a server", nullptr},
    {"template", "List, create, delete and check templates", template_command},
    {"layers", "List, build, check and prune installed package sets", nullptr},
    {"image", "Pull, load, import, list, publish and remove images", nullptr},
    {"gc", "Remove expired records of a server now", nullptr},
    {"bench", "Measure a server beside bwrap, runc and docker", bench_command},
    {"doctor", "Check what this host supports and how to fix what is missing", doctor_command},
    {"attack", "Run attacks against a sandbox and report what stopped them", attack_command},
    {"completion", "Print a completion script for bash, zsh or fish", completion_command},
    {"version", "Print the version", version_command},
};

// What other programs call these.
struct Alias {
  std::string_view name;
  std::string_view command;
  std::string_view subcommand;
};
constexpr Alias kAliases[] = {
    {"ls", "sandbox", "list"}, {"ps", "sandbox", "list"}, {"rm", "sandbox", "kill"}};

// Commands of other programs and what does the same here; not run, because they may mean more.
struct ForeignCommand {
  std::string_view name;
  std::string_view line;
};
constexpr ForeignCommand kForeignCommands[] = {
    {"kill", "glovebox sandbox kill ID"},
    {"stop", "glovebox sandbox kill ID"},
    {"delete", "glovebox sandbox kill ID"},
    {"list", "glovebox sandbox list"},
    {"sandboxes", "glovebox sandbox list"},
    {"create", "glovebox sandbox create"},
    {"pause", "glovebox sandbox pause ID"},
    {"unpause", "glovebox sandbox resume ID"},
    {"resume", "glovebox sandbox resume ID"},
    {"show", "glovebox sandbox show ID"},
    {"inspect", "glovebox sandbox show ID"},
    {"snapshot", "glovebox sandbox snapshot ID"},
    {"commit", "glovebox sandbox snapshot ID"},
    {"connect", "glovebox shell ID"},
    {"attach", "glovebox exec --attach PROCESS ID"},
    {"stats", "glovebox top"},
    {"ssh", "glovebox shell ID"},
    {"upload", "glovebox cp FILE ID:PATH"},
    {"download", "glovebox cp ID:PATH FILE"},
    {"images", "glovebox image list"},
    {"pull", "glovebox image pull NAME"},
    {"load", "glovebox image load FILE"},
    {"rmi", "glovebox image remove IMAGE"},
    {"snapshots", "glovebox sandbox snapshots"},
    {"packages", "glovebox layers list"},
    {"templates", "glovebox template list"},
    {"build", "glovebox template create NAME"},
    {"keys", "glovebox key list"},
    {"sandbox-run", "sandbox-run FILE"},
};

// Parses nothing: only for the help and the manual page.
options::CommandLine main_command_line() {
  options::CommandLine line{
      .name = "glovebox",
      .description = "Run untrusted code in a fresh sandbox.",
      .notes =
          "`glovebox ls` and `glovebox ps` are `glovebox sandbox list`; `glovebox rm` is\n"
          "`glovebox sandbox kill`.\n\n"
          "See `glovebox help COMMAND` for the options of a command. Try:\n"
          "  glovebox run -c 'print(1+1)'\n"};
  for (const Command& command : kCommands) {
    line.subcommands.push_back({.name = command.name, .help = command.summary});
  }
  return line;
}

void print_help() { std::fputs(options::help_text(main_command_line()).c_str(), stdout); }

constexpr std::string_view kMainOptions[] = {"--help", "--version"};

std::string unknown_option_message(const std::string& typed) {
  const std::string name = typed.substr(0, typed.find('='));
  const std::string_view near = nearest(name, kMainOptions);
  return "unknown option '" + name + "'" +
         (near.empty() ? "; the options of a command follow its name"
                       : "; did you mean '" + std::string(near) + "'?") +
         " (see `glovebox --help`)";
}

std::string unknown_command_message(const std::string& name) {
  if (name.starts_with('-')) return unknown_option_message(name);
  for (const ForeignCommand& foreign : kForeignCommands) {
    if (foreign.name != name) continue;
    return "unknown command '" + name + "'; use `" + std::string(foreign.line) +
           "` (see `glovebox --help`)";
  }
  std::vector<std::string> names;
  for (const Command& command : kCommands) names.emplace_back(command.name);
  for (const Alias& alias : kAliases) names.emplace_back(alias.name);
  std::string near(nearest(name, names));
  if (near.empty()) {
    names.clear();
    for (const ForeignCommand& foreign : kForeignCommands) names.emplace_back(foreign.name);
    const std::string_view foreign_name = nearest(name, names);
    for (const ForeignCommand& foreign : kForeignCommands) {
      if (!foreign_name.empty() && foreign.name == foreign_name) near = foreign.line;
    }
  }
  return "unknown command '" + name + "'" + (near.empty() ? "" : "; did you mean '" + near + "'?") +
         " (see `glovebox --help`)";
}

}  // namespace

int run_command_line(std::span<const std::string> args) {
  if (args.empty()) {
    print_help();
    return kExitUsage;
  }
  const std::string& name = args[0];
  if (name == "help" && args.size() > 1 && !args[1].starts_with('-')) {
    const std::string words[] = {args[1], "--help"};
    // A program of its own, which this one contains for its help.
    if (args[1] == "sandbox-run") return run_function_line(std::span(words).subspan(1));
    return run_command_line(words);
  }
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return 0;
  }
  if (name == "--help=man") {
    std::fputs(options::man_page(main_command_line()).c_str(), stdout);
    return 0;
  }
  if (name == "--version") return version_command({});
  for (const Alias& alias : kAliases) {
    if (alias.name != name) continue;
    std::vector<std::string> words = {std::string(alias.command), std::string(alias.subcommand)};
    words.insert(words.end(), args.begin() + 1, args.end());
    return run_command_line(words);
  }
  for (const Command& command : kCommands) {
    if (command.name != name) continue;
    if (command.run == nullptr) return exec_client_program(name, args.subspan(1));
    return command.run(args.subspan(1));
  }
  return usage_error(unknown_command_message(name));
}

}  // namespace glovebox::cli
