// The list of engines. Adding one is a folder beside this file and a line in catalog.cc.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"

namespace glovebox::engine {

std::vector<std::string_view> engine_names();
// An unknown name is an error that lists the known ones.
Result<std::unique_ptr<Engine>> make_engine(std::string_view name);

inline constexpr std::string_view kDefaultEngine = "jail";

}  // namespace glovebox::engine
