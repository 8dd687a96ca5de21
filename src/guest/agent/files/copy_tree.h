// Copies a file or a tree: links as links, FIFOs as FIFOs, holes as holes, with modes and times,
// and owners where one may. Sockets and devices are left out. Follows no link.
#pragma once

#include <string>

#include "base/result.h"
#include "guest/agent/files/helper_link.h"
#include "guest/agent/files/new_file.h"
#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {

enum class Trees : bool { kRefuse, kCopy };

struct Copied {
  std::uint64_t bytes = 0;
  std::uint64_t entries = 0;
};

// A directory that is there already is filled; a file is replaced, or not.
Result<> copy_tree(const Place& from, const Place& to, Trees trees, Replace replace,
                   Copied& copied);

// All of `from` into the empty file `to`, holes as holes.
Result<> copy_content(int from, int to, std::uint64_t size, std::uint64_t& bytes);

}  // namespace glovebox::agent
