// An answer with its output, written here when it is small and on the worker when it is not: many
// megabytes of JSON would keep everybody else waiting.
#pragma once

#include <string>

#include "base/task.h"
#include "routing/app.h"
#include "model/outcome.h"

namespace glovebox::routing {

// `exit_json` is an object; stdout and stderr of the outcome come in front.
asio::awaitable<std::string> with_output(App& app, std::string exit_json, Outcome outcome);

// The answer of that text. A large one is counted until its client has taken it: whoever reads
// slowly must not fill the server's memory. kResourceExhausted when too many are held.
Result<http::Response> held_answer(App& app, std::string body);

}  // namespace glovebox::routing
