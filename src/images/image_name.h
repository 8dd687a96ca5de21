// How images are named: as container tools name them, "python:3.13-slim" or
// "registry.example:5000/team/base".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::images {

inline constexpr std::size_t kMaxImageName = 255;

// In its one spelling: with a tag ("latest" by default), and without the name of Docker's own
// registry, which container tools leave out. kInvalidArgument.
Result<std::string> parse_image_name(std::string_view text);

}  // namespace glovebox::images
