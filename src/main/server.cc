// glovebox-server: the HTTP server, and the commands that talk to one. The front (`glovebox`)
// executes it for those, and the supervisor for `serve`; people type neither.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "base/standard_streams.h"
#include "client/commands.h"
#include "api/routes.h"
#include "main/serve.h"

namespace {

using Words = std::vector<std::string>;

int print_routes(const Words&) {
  std::fputs(api::routes_json().c_str(), stdout);
  return 0;
}

struct Command {
  std::string_view name;
  int (*run)(const Words& args);
};
constexpr Command kCommands[] = {
    {"serve", glovebox::server::serve_command},
    {"run", glovebox::client::run_command},
    {"invoke", glovebox::client::invoke_command},
    {"key", glovebox::client::key_command},
    {"template", glovebox::client::template_command},
    {"gc", glovebox::client::gc_command},
    {"layers", glovebox::client::layers_command},
    {"bench", glovebox::client::bench_command},
    {"sandbox", glovebox::client::sandbox_command},
    {"exec", glovebox::client::exec_command},
    {"shell", glovebox::client::shell_command},
    {"cp", glovebox::client::copy_command},
    {"code", glovebox::client::code_command},
    {"logs", glovebox::client::logs_command},
    {"top", glovebox::client::top_command},
    {"mcp", glovebox::client::mcp_command},
    {"routes", print_routes},  // for tests/style/openapi_test.py
};

int run(const Words& words) {
  const std::string name = words.empty() ? "" : words[0];
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(Words(words.begin() + 1, words.end()));
  }
  std::fprintf(stderr, "glovebox-server: no command '%s'; people type `glovebox`\n", name.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    return run(Words(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-server: %s\n", error.what());
    return 125;
  }
}
