// Finds the guest's regular files that match a pattern, inside the sandbox with the guest user's
// rights. Bounded: a guest may have created any number of files at any depth.
#pragma once

#include <string>

#include "wire/guest/guest_frames.h"

namespace glovebox::agent {

// `pattern` is absolute: `*` and `?` match within a name, `**` any number of directories. Links are
// not followed, /proc, /dev and /sys not entered, and names that are not paths of ours left out.
wire::FoundFiles find_files(const std::string& pattern);

}  // namespace glovebox::agent
