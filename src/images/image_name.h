// How images are named: as container tools name them, "python:3.13-slim" or
// "registry.example:5000/team/base".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::images {

inline constexpr std::size_t kMaxImageName = 255;
// So many characters of an image's id stand for it. Nothing of that form is a name: else a project
// could call its image what another one's id begins with.
inline constexpr std::size_t kLeastImageId = 8;

// In its one spelling: with a tag ("latest" by default), and without the name of Docker's own
// registry, which container tools leave out. kInvalidArgument.
Result<std::string> parse_image_name(std::string_view text);

}  // namespace glovebox::images
