// The version from CMake's project().
#pragma once

namespace glovebox::cli {
inline constexpr const char* kVersion = GBX_VERSION;
}
