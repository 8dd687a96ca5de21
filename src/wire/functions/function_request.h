// The body of POST /v1/functions/invoke: a handler's source and its event, and around them the same
// fields as those of POST /v1/run.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/functions/function_call.h"
#include "wire/runs/run_request.h"

namespace glovebox::wire {

struct FunctionRequest {
  RunRequest run;  // without its code, which depends on the limits; its wall time is set
  FunctionCall call;
};

// kInvalidArgument with the path of the field that is wrong.
Result<FunctionRequest> parse_function_request(std::string_view body);

}  // namespace glovebox::wire
