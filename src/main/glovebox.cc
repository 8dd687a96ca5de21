// glovebox: the command line. Executes other programs for the commands that need them.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "cli/commands.h"
#include "cli/commands/template.h"
#include "engine/launcher_client.h"
#include "launcher/run_launcher.h"
#include "launcher/templates/template_file.h"

namespace {

int serve_privately(int client_fd, const std::string& agent_path) {
  glovebox::launcher::LauncherOptions options;
  options.client_fd = client_fd;
  options.agent_path = agent_path;
  const auto served = glovebox::launcher::run_launcher(options);
  if (served) return 0;
  std::fprintf(stderr, "glovebox-launcher: %s\n", served.error().message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return 125;
  try {
    glovebox::engine::LauncherClient::serve_privately_with(serve_privately);
    glovebox::cli::set_template_parser(glovebox::launcher::parse_template);
    const std::vector<std::string> args(argv + 1, argv + argc);
    return glovebox::cli::run_command_line(args);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "glovebox: %s\n", error.what());
    return 125;
  }
}
