// Who needs a snapshot that somebody wants to remove.
#pragma once

#include <string>

#include "base/result.h"
#include "routing/app.h"

namespace glovebox::sessions {

// kConflict: a template of the same project stands for it, and is named. One that the caller cannot
// see is not there.
Result<> check_unused(const routing::App& app, const std::string& project, const std::string& snapshot);

}  // namespace glovebox::sessions
