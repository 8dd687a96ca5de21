// Parses a multipart/form-data body as it arrives: part by part, and the bytes of each in pieces.
// Any client can send one, so only a part's head and a possible beginning of a boundary are kept.
// Fuzzed in tests/fuzz/multipart.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::http {

// Of a Content-Type; nothing: it is not multipart/form-data, or has no boundary that could be one.
std::optional<std::string> multipart_boundary(std::string_view content_type);

class MultipartReader {
 public:
  static constexpr std::size_t kMaxHead = 16 * 1024;      // of one part
  static constexpr std::size_t kMaxPreamble = 16 * 1024;  // before the first

  struct Part {
    std::string name;
    std::optional<std::string> filename;  // as it was sent, slashes and all
    bool operator==(const Part&) const = default;
  };
  enum class Event : std::uint8_t {
    kMore,     // add() something, then ask again
    kPart,     // one begins: part()
    kData,     // some of its bytes: data(), until the next call
    kPartEnd,  // it was whole
    kEnd,      // and that was all
    kBad,      // this is no such body
  };

  explicit MultipartReader(const std::string& boundary);

  void add(std::string_view bytes);
  Event next();
  const Part& part() const { return part_; }
  std::string_view data() const { return data_; }

 private:
  enum class State : std::uint8_t { kPreamble, kBoundary, kHead, kData, kEnd, kBad };

  std::string_view left() const { return std::string_view(buffer_).substr(at_); }
  Event bad();
  Event find_first();
  Event after_boundary();
  Event read_head();
  Event read_data();

  const std::string delimiter_;  // with its line break before it
  std::string buffer_;
  std::size_t at_ = 0;
  std::size_t skipped_ = 0;   // of the preamble
  std::size_t searched_ = 0;  // of a head that is not whole yet
  State state_ = State::kPreamble;
  bool is_fresh_ = false;  // no byte of the part was looked at
  Part part_;
  std::string_view data_;
};

}  // namespace glovebox::http
