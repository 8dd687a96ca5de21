// An Outcome as the one JSON object that every surface of Glovebox answers with.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "model/outcome.h"
#include "wire/network/network_json.h"

namespace glovebox::wire {

// One line, newline at the end. Output that is not UTF-8 is shown with replacement
// characters and given whole beside it as `stdout_base64` / `stderr_base64`.
// `metrics.network` is what it did with its network, or null.
std::string outcome_json(const Outcome& outcome,
                         const std::optional<NetworkFigures>& network = std::nullopt);

// The same shape when Glovebox itself failed, or the sandbox could not execute the program: `error`
// is filled, nothing ran.
std::string failure_json(const Error& error);

}  // namespace glovebox::wire
