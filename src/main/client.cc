// glovebox-client: the commands that talk to a server. `glovebox` executes it; it is not meant to
// be typed.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/standard_streams.h"
#include "client/commands.h"

namespace {

using Arguments = std::vector<std::string>;

struct Command {
  std::string_view name;
  int (*run)(const Arguments& args);
};
constexpr Command kCommands[] = {
    {"run", glovebox::client::run_command},
    {"runs", glovebox::client::runs_command},
    {"invoke", glovebox::client::invoke_command},
    {"image", glovebox::client::image_command},
    {"key", glovebox::client::key_command},
    {"template", glovebox::client::template_command},
    {"gc", glovebox::client::gc_command},
    {"layers", glovebox::client::layers_command},
    {"sandbox", glovebox::client::sandbox_command},
    {"exec", glovebox::client::exec_command},
    {"shell", glovebox::client::shell_command},
    {"cp", glovebox::client::copy_command},
    {"code", glovebox::client::code_command},
    {"console", glovebox::client::console_command},
    {"logs", glovebox::client::logs_command},
    {"top", glovebox::client::top_command},
    {"mcp", glovebox::client::mcp_command},
};

int run(const Arguments& args) {
  const std::string name = args.empty() ? "" : args[0];
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(Arguments(args.begin() + 1, args.end()));
  }
  std::fprintf(stderr, "glovebox-client: unknown command '%s'; use `glovebox`\n", name.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    return run(Arguments(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-client: %s\n", error.what());
    return 125;
  }
}
