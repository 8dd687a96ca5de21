// The processes below another, as /proc has them.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace glovebox::bench {

// `root` and all its descendants, `root` first. A process that starts or ends meanwhile may be
// missing.
std::vector<pid_t> process_tree(pid_t root);

// The text of a file, "" if it cannot be read: a process that has ended.
std::string proc_text(const std::string& path);

}  // namespace glovebox::bench
