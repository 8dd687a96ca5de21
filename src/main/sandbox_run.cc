// sandbox-run: AWS Lambda handlers from the command line. Like `glovebox` it is small and static,
// and acts as its own launcher if none is running.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/standard_streams.h"
#include "cli/function_run.h"
#include "engine/launcher_client.h"
#include "launcher/layers/runtime_files.h"
#include "launcher/run_launcher.h"

namespace {

constexpr int kNotStarted = 5;

int serve_privately(int client_fd, const std::string& agent_path) {
  glovebox::launcher::LauncherOptions options;
  options.client_fd = client_fd;
  options.agent_path = agent_path;
  const auto served = glovebox::launcher::run_launcher(options);
  if (served) return 0;
  std::fprintf(stderr, "glovebox-launcher: %s\n", served.error().message().c_str());
  return 1;
}

std::vector<glovebox::cli::RuntimeFile> runtime_texts() {
  std::vector<glovebox::cli::RuntimeFile> texts;
  for (const auto& file : glovebox::launcher::runtime_files()) {
    texts.push_back({std::string(file.path), file.bytes});
  }
  return texts;
}

}  // namespace

int main(int argc, char** argv) {
  if (!glovebox::ensure_standard_streams()) return kNotStarted;
  try {
    glovebox::engine::LauncherClient::serve_privately_with(serve_privately);
    glovebox::cli::set_runtime_files(runtime_texts);
    const std::vector<std::string> args(argv + 1, argv + argc);
    return glovebox::cli::run_function_line(args);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sandbox-run: %s\n", error.what());
    return kNotStarted;
  }
}
