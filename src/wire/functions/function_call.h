// One call of an AWS Lambda handler: the caller's fields with defaults, and how they travel to the
// guest half (src/guest/python/lambda_handler.py, src/guest/node/lambda_handler.js). It is a job
// like any other (wire/guest/job.h) whose name is kFunctionJob and whose code is an object of JSON:
//
//   {"code", "module", "function", "file", "timeout_ms", "context": {...}, "event": ...,
//    "imports": ["deny" | "allow", [NAMES]]}
//
// No caller gives a job its name, so no code of a run is ever taken for a call.
#pragma once

#include <boost/json/fwd.hpp>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace glovebox::wire {

inline constexpr std::string_view kFunctionJob = "glovebox:function";
inline constexpr std::chrono::milliseconds kDefaultFunctionTime{300'000};
inline constexpr std::chrono::milliseconds kMaxFunctionTime{3'600'000};
inline constexpr std::size_t kMaxEventBytes = 6'000'000;  // as Lambda's own limit

enum class FunctionLanguage : std::uint8_t { kPython, kNode };

struct FunctionCall {
  FunctionLanguage language = FunctionLanguage::kPython;
  std::string code;
  // As given: "handler", or "module.function". Empty: "handler".
  std::string handler;
  // The source's own name, "app.py"; empty: by the handler's module.
  std::string file;
  std::string event = "{}";    // JSON, without __timeout
  std::string context = "{}";  // JSON: those fields of the context that were given
  std::optional<std::chrono::milliseconds> asked_time;  // of the request or the command line
  std::optional<std::chrono::milliseconds> event_time;  // __timeout
  // What the process engine's Python may import: "deny" or "allow", and names.
  std::string import_mode;
  std::vector<std::string> imports;
};

// If both are given the shorter one counts: an event often comes from a third party.
std::chrono::milliseconds time_of(const FunctionCall& call);

// Each checks and stores one field of the caller; an error is kInvalidArgument and names `at`.
Result<> take_event(FunctionCall& call, const boost::json::value& event, const std::string& at);
Result<> take_context(FunctionCall& call, const boost::json::value& context, const std::string& at);
Result<> take_handler(FunctionCall& call, std::string_view handler, const std::string& at);
// "app.py", "src/app.mjs": its name and nothing of where it is.
Result<> take_file(FunctionCall& call, std::string_view file, const std::string& at);

// What the response repeats about a call.
struct FunctionCallInfo {
  std::string request_id;
  std::chrono::milliseconds timeout{0};
};

struct EncodedCall {
  std::string code;  // of the job
  FunctionCallInfo about;
};
// The rest of the context is made here: a request id, names, a made-up ARN.
EncodedCall encode_call(const FunctionCall& call, std::uint64_t memory_mb);
// For an interpreter that serves many calls: the code, which they share, is an object without
// timeout_ms, context and event, and `input` is an object of these three.
struct SharedCall {
  std::string code;   // of the job
  std::string input;  // of the record (wire/guest/job.h)
  FunctionCallInfo about;
};
SharedCall encode_shared_call(const FunctionCall& call, std::uint64_t memory_mb);

}  // namespace glovebox::wire
