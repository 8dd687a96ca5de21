// A profile as tables or as JSON.
#pragma once

#include <string>

#include "bench/profile/run_profile.h"

namespace glovebox::bench {

std::string profile_text(const RunProfile& profile);
// An object with "loads", "floor" and "not_counted". What was not counted is null.
std::string profile_json(const RunProfile& profile);

}  // namespace glovebox::bench
