// Connects the standard streams or the terminal of this process with a program in a sandbox, over a
// WebSocket of the server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"
#include "client/connection/api_client.h"

namespace glovebox::client {

struct ExecStreamRequest {
  std::string sandbox;
  std::string first_message;  // start or attach, as JSON
  bool terminal = false;      // puts the local terminal into raw mode and sends its size
  bool input = false;         // sends standard input
};

struct ExecStreamResult {
  int exit_code = 0;
  bool detached = false;  // with the detach keys; the program keeps running
  std::uint64_t process = 0;
  bool timed_out = false;             // exit_code is 124
  bool is_output_closed = false;      // the reader of our output has gone; the program is ended
  bool has_network_errors = false;    // in its error output; see wire::NetworkErrorDetector
  std::optional<ApiError> refused{};  // the server did not start the program
};

// Returns when the program ends or the detach keys are typed (Ctrl-P Ctrl-Q, only at a terminal).
// Without a terminal Ctrl-C is passed on; the second one returns and leaves the program running.
Result<ExecStreamResult> run_exec_stream(const ServerLocation& location,
                                         const ExecStreamRequest& request);

}  // namespace glovebox::client
