// The version, as CMake's project() says it.
#pragma once

namespace glovebox::cli {
inline constexpr const char* kVersion = GBX_VERSION;
}
