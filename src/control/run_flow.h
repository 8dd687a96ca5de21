// From a plan to its answer: the request's name, the key's limits, the run itself, its record, and
// the answer, whole or as live events. What is between a request's words and its plan, and how the
// end is worded, is the routes' own.
#pragma once

#include <functional>
#include <string>

#include "control/app.h"
#include "control/run_plan.h"
#include "http/message.h"
#include "store/key.h"
#include "wire/run_answer.h"

namespace glovebox::control {

// The answer without its output, as JSON; called once, on the worker or here. It may change the
// exit code, which then is also the record's.
using ExitWords = std::function<std::string(wire::RunAnswer& answer)>;

Task<http::Response> carry_out(App& app, http::Request& request, http::ResponseWriter& writer,
                               store::Principal who, RunPlan plan, ExitWords words);

}  // namespace glovebox::control
