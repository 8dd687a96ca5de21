// Runs a program with a deadline and collects its output. The caller chooses in detail what the
// program inherits, because some attacks use what a careless caller leaves open.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace glovebox::attack {

// How a caller starts a program; the odd ones are what attacks look for.
struct Inheritance {
  std::string stdin_path{};                // empty: /dev/null
  std::string working_dir{};               // empty: ours
  std::string leaked_dir{};                // a directory left open across exec
  bool controlling_tty = false;            // a session with a terminal of its own
  std::vector<std::string> environment{};  // NAME=value, besides our own
  std::vector<std::string> through{};      // a program, with its words, that starts it
};

struct Command {
  std::vector<std::string> argv{};
  Inheritance inherits{};
  std::chrono::milliseconds limit{60000};
  // Called once, when the program has printed a line "ready" and still runs. Its stdin is a pipe
  // then, which ends when this returns.
  std::function<void()> when_ready{};
};

struct CommandResult {
  int exit_code = 0;  // 128 + signal if a signal ended it
  std::string out{};
  std::string err{};
  bool hung = false;  // it had to be killed at the deadline
};

Result<CommandResult> run_command(const Command& command);

// Pids on this host, other than our own, whose command line contains `text` (NULs as spaces).
std::vector<int> pids_with_cmdline(const std::string& text);

}  // namespace glovebox::attack
