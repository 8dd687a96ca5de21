// The pipes of a guest's program. They come from an agent that may have been taken over, so nothing
// is assumed about them: not that they are pipes, and not that they stay non-blocking.
#pragma once

#include <sys/types.h>

#include <span>
#include <string_view>

#include "base/result.h"

namespace glovebox::node {

// Refuses everything that is not a pipe: a descriptor of a file system of the guest's making could
// make us wait for it.
Result<> check_is_pipe(int fd);

// As read(2) and write(2), and never wait, even if the guest cleared O_NONBLOCK: the flag belongs
// to the open file, which the other side has as well. -1 and EAGAIN: later.
ssize_t read_now(int fd, std::span<char> into);
ssize_t write_now(int fd, std::string_view bytes);

}  // namespace glovebox::node
