// One stream's bytes as they go to a client: cut only between characters, each piece with the
// offset of its first byte in all that was printed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wire/runs/run_answer.h"

namespace glovebox::wire {

class StreamText {
 public:
  struct Piece {
    std::uint64_t offset = 0;
    std::string_view text;  // good until the next call
  };
  void start_at(std::uint64_t offset) { next_ = offset; }
  Piece add(std::uint64_t offset, std::string_view bytes) {
    const std::uint64_t begin = offset - pieces_.rest().size();
    const std::string_view whole = pieces_.add(bytes);
    next_ = begin + whole.size();
    return {begin, whole};
  }
  // What waits for the rest of a character that will not come.
  Piece rest();

 private:
  wire::Utf8Chunker pieces_;
  std::string rest_;
  std::uint64_t next_ = 0;  // of what is kept
};

}  // namespace glovebox::wire
