// The commands of `glovebox` that talk to a server. `glovebox` executes glovebox-client for them.
// Each returns the exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server.
#pragma once

#include <string>
#include <vector>

namespace glovebox::client {

int code_command(const std::vector<std::string>& args);
int console_command(const std::vector<std::string>& args);
int copy_command(const std::vector<std::string>& args);
int exec_command(const std::vector<std::string>& args);
int gc_command(const std::vector<std::string>& args);
int image_command(const std::vector<std::string>& args);
int key_command(const std::vector<std::string>& args);
int layers_command(const std::vector<std::string>& args);
int logs_command(const std::vector<std::string>& args);
int mcp_command(const std::vector<std::string>& args);
int runs_command(const std::vector<std::string>& args);
int sandbox_command(const std::vector<std::string>& args);
int shell_command(const std::vector<std::string>& args);
int template_command(const std::vector<std::string>& args);
int top_command(const std::vector<std::string>& args);
// Called by `glovebox run --server` and `sandbox-run --server` with a prepared request body.
int run_command(const std::vector<std::string>& args);
int invoke_command(const std::vector<std::string>& args);

}  // namespace glovebox::client
