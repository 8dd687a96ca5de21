// The chunked transfer coding, taken apart where it lies: content moves together at the front of
// the buffer, the lines between are dropped. Strict, because the bytes are untrusted: sizes are hex
// digits and nothing else, lines end in CR LF, and lines and trailers are bounded. The writing side
// is one line per chunk. Fuzzed in tests/fuzz/http_chunks.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace glovebox::http {

// A chunked body is at least "0", and two line ends.
inline constexpr std::size_t kLeastOfChunks = 5;

class ChunkDecoder {
 public:
  struct Step {
    std::size_t content = 0;  // bytes of content, now at the front of the buffer
    std::size_t used = 0;     // bytes of the buffer that were looked at; all of them until the end
  };
  // After is_done() or is_malformed() nothing is taken any more.
  Step decode(char* bytes, std::size_t size);
  bool is_done() const { return state_ == State::kDone; }
  bool is_malformed() const { return state_ == State::kMalformed; }

 private:
  enum class State : std::uint8_t {
    kSize,       // hex digits
    kExtension,  // ";anything", up to the CR
    kSizeLf,     // the LF of the size's line
    kContent,
    kContentCr,  // behind the content
    kContentLf,
    kTrailer,      // at the beginning of a line
    kTrailerLine,  // in the middle of one
    kTrailerLf,
    kEndLf,
    kDone,
    kMalformed,
  };
  void take(char c);

  State state_ = State::kSize;
  std::uint64_t left_ = 0;      // of the chunk
  std::uint32_t digits_ = 0;    // of its size
  std::size_t line_bytes_ = 0;  // of extensions (of one chunk) or trailers (of all)
};

// "1a2b\r\n": the line before a chunk. A chunk of nothing would be the end: not for that.
class ChunkLine {
 public:
  explicit ChunkLine(std::size_t size);
  std::string_view text() const { return {text_.data(), size_}; }

 private:
  std::array<char, 20> text_;
  std::size_t size_;
};

inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace glovebox::http
