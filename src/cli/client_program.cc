#include "cli/client_program.h"

#include <unistd.h>

#include <vector>

#include "cli/print.h"
#include "engine/launcher_client.h"

namespace glovebox::cli {

int become_server_command(const std::string& name, std::span<const std::string> args) {
  std::string program = engine::program_path("glovebox-server");
  std::vector<std::string> words = {program, name};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.c_str(), argv.data());
  return failure(Error::from_errno("execute " + program));
}

int key_command(std::span<const std::string> args) { return become_server_command("key", args); }
int gc_command(std::span<const std::string> args) { return become_server_command("gc", args); }
int layers_command(std::span<const std::string> args) {
  return become_server_command("layers", args);
}
int bench_command(std::span<const std::string> args) {
  return become_server_command("bench", args);
}
int sandbox_command(std::span<const std::string> args) {
  return become_server_command("sandbox", args);
}
int exec_command(std::span<const std::string> args) { return become_server_command("exec", args); }
int shell_command(std::span<const std::string> args) {
  return become_server_command("shell", args);
}
int copy_command(std::span<const std::string> args) { return become_server_command("cp", args); }
int code_command(std::span<const std::string> args) { return become_server_command("code", args); }
int logs_command(std::span<const std::string> args) { return become_server_command("logs", args); }
int top_command(std::span<const std::string> args) { return become_server_command("top", args); }
int mcp_command(std::span<const std::string> args) { return become_server_command("mcp", args); }

}  // namespace glovebox::cli
