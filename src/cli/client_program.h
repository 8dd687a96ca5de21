// Commands that talk to a server are in another program, so that this one stays small and starts
// fast. It is executed in our place.
#pragma once

#include <span>
#include <string>

namespace glovebox::cli {

// `glovebox-server NAME ARGS`. Returns only when that cannot be executed: the exit status.
int become_server_command(const std::string& name, std::span<const std::string> args);

int key_command(std::span<const std::string> args);
int gc_command(std::span<const std::string> args);
int layers_command(std::span<const std::string> args);
int bench_command(std::span<const std::string> args);
int sandbox_command(std::span<const std::string> args);
int exec_command(std::span<const std::string> args);
int shell_command(std::span<const std::string> args);
int copy_command(std::span<const std::string> args);
int code_command(std::span<const std::string> args);
int logs_command(std::span<const std::string> args);
int top_command(std::span<const std::string> args);
int mcp_command(std::span<const std::string> args);

}  // namespace glovebox::cli
