#include "http/chunks.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "http/ascii.h"

namespace glovebox::http {

namespace {

constexpr std::size_t kMaxExtension = 4 << 10;
constexpr std::size_t kMaxTrailers = 16 << 10;
constexpr std::uint32_t kMaxDigits = 15;  // what 64 bits hold without a thought

bool is_control_character(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return (byte < 0x20 && c != '\t') || byte == 0x7F;
}

}  // namespace

ChunkDecoder::Step ChunkDecoder::decode(char* bytes, std::size_t size) {
  Step step;
  while (step.used < size && !is_done() && !is_malformed()) {
    if (state_ != State::kContent) {
      take(bytes[step.used++]);
      continue;
    }
    const std::size_t run = std::min<std::uint64_t>(left_, size - step.used);
    if (step.content != step.used) std::memmove(bytes + step.content, bytes + step.used, run);
    step.content += run;
    step.used += run;
    left_ -= run;
    if (left_ == 0) state_ = State::kContentCr;
  }
  return step;
}

void ChunkDecoder::take(char c) {
  const auto expect = [&](char wanted, State next) {
    state_ = c == wanted ? next : State::kMalformed;
  };
  switch (state_) {
    case State::kSize: {
      const int digit = hex_value(c);
      if (digit >= 0 && digits_ < kMaxDigits) {
        left_ = left_ * 16 + static_cast<unsigned>(digit);
        ++digits_;
      } else if (digits_ > 0 && c == '\r') {
        state_ = State::kSizeLf;
      } else if (digits_ > 0 && (c == ';' || c == ' ' || c == '\t')) {
        state_ = State::kExtension;
      } else {
        state_ = State::kMalformed;
      }
      return;
    }
    case State::kExtension:
      if (c == '\r') {
        state_ = State::kSizeLf;
      } else if (is_control_character(c) || ++line_bytes_ > kMaxExtension) {
        state_ = State::kMalformed;
      }
      return;
    case State::kSizeLf:
      expect('\n', left_ > 0 ? State::kContent : State::kTrailer);
      line_bytes_ = 0;
      digits_ = 0;
      return;
    case State::kContentCr:
      return expect('\r', State::kContentLf);
    case State::kContentLf:
      return expect('\n', State::kSize);
    case State::kTrailer:
      if (c == '\r') {
        state_ = State::kEndLf;
        return;
      }
      state_ = State::kTrailerLine;
      [[fallthrough]];
    case State::kTrailerLine:
      if (c == '\r') {
        state_ = State::kTrailerLf;
      } else if (is_control_character(c) || ++line_bytes_ > kMaxTrailers) {
        state_ = State::kMalformed;
      }
      return;
    case State::kTrailerLf:
      return expect('\n', State::kTrailer);
    case State::kEndLf:
      return expect('\n', State::kDone);
    case State::kContent:
    case State::kDone:
    case State::kMalformed:
      return;
  }
}

ChunkLine::ChunkLine(std::size_t size) {
  char* end = std::to_chars(text_.data(), text_.data() + 16, size, 16).ptr;
  *end++ = '\r';
  *end++ = '\n';
  size_ = static_cast<std::size_t>(end - text_.data());
}

}  // namespace glovebox::http
