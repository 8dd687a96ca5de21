// The commands of `glovebox` that talk to a server. The front executes glovebox-server for them;
// each returns the exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server.
#pragma once

#include <string>
#include <vector>

namespace glovebox::client {

int key_command(const std::vector<std::string>& args);
int template_command(const std::vector<std::string>& args);
int gc_command(const std::vector<std::string>& args);
int layers_command(const std::vector<std::string>& args);
int bench_command(const std::vector<std::string>& args);
int sandbox_command(const std::vector<std::string>& args);
int exec_command(const std::vector<std::string>& args);
int shell_command(const std::vector<std::string>& args);
int copy_command(const std::vector<std::string>& args);
int code_command(const std::vector<std::string>& args);
int logs_command(const std::vector<std::string>& args);
int top_command(const std::vector<std::string>& args);
int mcp_command(const std::vector<std::string>& args);
// Not as people type it: see run.cc.
int run_command(const std::vector<std::string>& args);
int invoke_command(const std::vector<std::string>& args);

}  // namespace glovebox::client
