#include "control/stream_text.h"

#include <utility>

namespace glovebox::control {

StreamText::Piece StreamText::rest() {
  rest_ = pieces_.rest();
  pieces_ = {};
  const std::uint64_t begin = std::exchange(next_, next_ + rest_.size());
  return {begin, rest_};
}

}  // namespace glovebox::control
