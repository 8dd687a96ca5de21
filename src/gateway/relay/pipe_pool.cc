#include "gateway/relay/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

namespace glovebox::gateway {

Pipe PipePool::take() {
  if (in_use_ >= max_in_use_) return {};
  Pipe pipe;
  if (!idle_.empty()) {
    pipe = std::move(idle_.back());
    idle_.pop_back();
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    pipe = {UniqueFd(ends[0]), UniqueFd(ends[1])};
    // Refused beyond the user's limit for all pipes; then it keeps the default size.
    (void)::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  }
  ++in_use_;
  return pipe;
}

void PipePool::give_back(Pipe pipe, bool is_empty) {
  --in_use_;
  if (is_empty && idle_.size() < kMaxIdle) idle_.push_back(std::move(pipe));
}

}  // namespace glovebox::gateway
