#include "wire/runs/stream_text.h"

#include <utility>

namespace glovebox::wire {

StreamText::Piece StreamText::rest() {
  rest_ = pieces_.rest();
  pieces_ = {};
  const std::uint64_t begin = std::exchange(next_, next_ + rest_.size());
  return {begin, rest_};
}

}  // namespace glovebox::wire
