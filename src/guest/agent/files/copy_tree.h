// Copies a file or a tree: symlinks, FIFOs and holes are preserved, modes and times too, and owners
// where permitted. Sockets and devices are left out. Follows no symlink.
#pragma once

#include <string>

#include "base/result.h"
#include "guest/agent/files/helper_link.h"
#include "guest/agent/files/new_file.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

enum class Trees : bool { kRefuse, kCopy };

struct CopyCounts {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// An existing directory is merged; an existing file is replaced or kept.
Result<> copy_tree(const ResolvedPath& from, const ResolvedPath& to, Trees trees, Replace replace,
                   CopyCounts& copied);

// Copies the content of `from` into the empty file `to`, preserving holes.
Result<> copy_content(int from, int to, std::uint64_t size, std::uint64_t& bytes);

}  // namespace glovebox::agent
