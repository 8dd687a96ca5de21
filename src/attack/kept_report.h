// The last report of `glovebox attack`, where the server of this host finds it: the console shows
// it.
#pragma once

#include <string>

#include "base/result.h"

namespace glovebox::attack {

// In the directory of a data directory that belongs to the server.
inline constexpr const char* kKeptReport = "attack-report.json";

// Replaces the report at once, never in part. False: there is no server's directory below
// `data_dir`. The directory belongs to the server's user, who may have been taken over, and we may
// be root: nothing in it is followed or opened for writing that was there before.
Result<bool> keep_report(const std::string& data_dir, const std::string& text);

}  // namespace glovebox::attack
