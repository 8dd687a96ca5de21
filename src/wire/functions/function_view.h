// What `sandbox-run` shows of a function's response, from a server or from a local engine.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::wire {

// The exit statuses of sandbox-run.
inline constexpr int kFunctionDone = 0;
inline constexpr int kFunctionFailed = 1;      // the handler raised, bad usage, a bad event
inline constexpr int kFunctionUnreadable = 2;  // a file is not there or cannot be read
inline constexpr int kFunctionUndefined = 3;   // a syntax error, or there is no such handler
inline constexpr int kFunctionTimedOut = 4;
inline constexpr int kFunctionNotStarted = 5;  // the sandbox could not start

struct FunctionView {
  int status = kFunctionDone;
  std::string out;      // the result, or Lambda's error object, as one line
  std::string remarks;  // whole lines, or nothing
  std::string profile;  // where time and memory went: whole lines
};

// `answer` is what function_exit_json() made, with or without the output. kProtocol when it is
// anything else.
Result<FunctionView> view_function(std::string_view answer);

}  // namespace glovebox::wire
