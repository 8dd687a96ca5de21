// Files and directories that the launcher makes for a sandbox, in a tmpfs of its own that no guest
// has seen yet. `at` is a descriptor of it; with `chown` they belong to `uid`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/result.h"

namespace glovebox::launcher {

inline constexpr const char* kBootIdFile = "boot_id";

Result<> make_dir(int at, const std::string& path, mode_t mode, std::uint32_t uid, bool chown);

// kBootIdFile: a random UUID, as the kernel writes it.
Result<> make_boot_id(int at, std::uint32_t uid, bool chown);

// What an image cannot know: how names are resolved here. Below upper/ of the tmpfs.
Result<> make_image_files(int tmpfs, std::uint32_t root, bool chown);

}  // namespace glovebox::launcher
