// Small whole-file idioms on descriptors.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::sys {

Result<UniqueFd> open_dir(int dir_fd, const std::string& path);
// For /proc, /sys and cgroup files: at most 64 KiB is read.
Result<std::string> read_small_file(int dir_fd, const std::string& path);
// One write, no creation: for control files of the kernel.
Result<> write_control(int dir_fd, const std::string& path, std::string_view text);

// Without waiting: whether there is data, or the other end is closed. False for -1.
bool is_readable(int fd);

}  // namespace glovebox::sys
