// Decompresses a stream whose form is told by its first bytes: gzip (also of several members), zstd
// (also of several frames), or neither, which is passed on as it is. Lengths in the stream are not
// trusted; a stream that ends early or has something else behind its end is an error.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/result.h"

namespace glovebox::agent {

class Decompressor {
 public:
  // Some bytes, at least one; none at the end.
  using Source = std::function<Result<std::size_t>(char* bytes, std::size_t size)>;
  explicit Decompressor(Source source);
  Decompressor(const Decompressor&) = delete;
  Decompressor& operator=(const Decompressor&) = delete;
  ~Decompressor();

  // The same for what is decompressed. kInvalidArgument: the stream is malformed.
  Result<std::size_t> read(char* bytes, std::size_t size);

 private:
  class Format;
  class Plain;
  class Gzip;
  class Zstd;
  struct Input;

  Result<> detect();

  std::unique_ptr<Input> input_;
  std::unique_ptr<Format> format_;  // once the first bytes are there
};

}  // namespace glovebox::agent
