#include "gateway/relay/pipe_pool.h"

#include <fcntl.h>
#include <unistd.h>

namespace glovebox::gateway {

Pipe PipePool::take() {
  if (lent_ >= max_lent_) return {};
  Pipe pipe;
  if (!idle_.empty()) {
    pipe = std::move(idle_.back());
    idle_.pop_back();
  } else {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return {};
    pipe = {UniqueFd(ends[0]), UniqueFd(ends[1])};
    // Beyond what an ordinary user may have in all pipes this is refused; then it is a small one.
    (void)::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  }
  ++lent_;
  return pipe;
}

void PipePool::give_back(Pipe pipe, bool is_empty) {
  --lent_;
  if (is_empty && idle_.size() < kMaxIdle) idle_.push_back(std::move(pipe));
}

}  // namespace glovebox::gateway
