// glovebox-server: the HTTP server. The supervisor (`glovebox serve`) executes it; it is not meant
// to be typed.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "api/routes.h"
#include "base/standard_streams.h"
#include "main/serve.h"

namespace {

using Arguments = std::vector<std::string>;

int print_routes(const Arguments&) {
  std::fputs(glovebox::api::routes_json().c_str(), stdout);
  return 0;
}

struct Command {
  std::string_view name;
  int (*run)(const Arguments& args);
};
constexpr Command kCommands[] = {
    {"serve", glovebox::server::serve_command},
    {"routes", print_routes},  // for tests/style/openapi_test.py
};

int run(const Arguments& args) {
  const std::string name = args.empty() ? "" : args[0];
  for (const Command& command : kCommands) {
    if (command.name == name) return command.run(Arguments(args.begin() + 1, args.end()));
  }
  std::fprintf(stderr, "glovebox-server: unknown command '%s'; use `glovebox serve`\n",
               name.c_str());
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    return run(Arguments(argv + 1, argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox-server: %s\n", error.what());
    return 125;
  }
}
