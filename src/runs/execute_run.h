// From a plan to its answer: the request's name, the key's limits, the run itself, its record, and
// the answer, whole or as live events. What is between a request's words and its plan, and how the
// end is worded, is the routes' own.
#pragma once

#include <functional>
#include <string>

#include "routing/app.h"
#include "runs/run_plan.h"
#include "http/message.h"
#include "store/key.h"
#include "wire/run_answer.h"

namespace glovebox::runs {

// The answer without its output, as JSON; called once, on the worker or here. It may change the
// exit code, which then is also the record's.
using ExitJson = std::function<std::string(wire::RunAnswer& answer)>;

Task<http::Response> execute_run(routing::App& app, http::Request& request, http::ResponseWriter& writer,
                               store::Principal who, RunPlan plan, ExitJson words);

}  // namespace glovebox::runs
