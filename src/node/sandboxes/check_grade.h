// Whether the walls of a sandbox are as strong as its request demands.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "model/wall.h"

namespace glovebox::node {

inline Result<> check_grade(EngineKind engine, const WallSet& walls,
                            const std::optional<Grade>& least) {
  const Grade stood = grade_of(engine, walls);
  if (!least || stood >= *least) return {};
  return fail(Errc::kPolicy, "the walls of this sandbox reach grade '" +
                                 std::string(grade_name(stood)) + "', below the required '" +
                                 std::string(grade_name(*least)) + "' (see `glovebox doctor`)");
}

}  // namespace glovebox::node
