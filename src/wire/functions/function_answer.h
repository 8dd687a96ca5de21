// The answer of POST /v1/functions/invoke and of `sandbox-run`: the fields of a run, with the
// handler's value as `result` and Lambda's error object as `error`, one of them null. Everything in
// it that a guest wrote is checked and bounded; it can choose its own result and exit code, and
// nothing else.
#pragma once

#include <string>

#include "wire/functions/function_call.h"
#include "wire/runs/run_answer.h"

namespace glovebox::wire {

// One JSON object without stdout and stderr; run_answer_json() adds those. What has an error has
// not succeeded, whatever its process says: an exit code of 0 is made 1 then, in `answer` as well.
std::string function_exit_json(RunAnswer& answer, const FunctionCallInfo& about);

}  // namespace glovebox::wire
