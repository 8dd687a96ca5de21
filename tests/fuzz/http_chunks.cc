// Chunked bodies, of requests and of answers from inside a sandbox. However the bytes are cut, the
// same comes out.
#include <algorithm>
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "http/chunks.h"

namespace {

struct Outcome {
  std::string content;
  std::size_t used = 0;
  bool is_done = false;
  bool is_malformed = false;
  bool operator==(const Outcome&) const = default;
};

Outcome decode(std::string_view bytes, std::size_t piece) {
  using namespace glovebox;
  http::ChunkDecoder decoder;
  Outcome out;
  while (!bytes.empty() && !decoder.is_done() && !decoder.is_malformed()) {
    std::string part(bytes.substr(0, piece));
    const auto step = decoder.decode(part.data(), part.size());
    fuzz::promise(step.content <= step.used && step.used <= part.size(), "it takes what it got");
    fuzz::promise(step.used == part.size() || decoder.is_done() || decoder.is_malformed(),
                  "only at the end is something left");
    out.content += part.substr(0, step.content);
    out.used += step.used;
    bytes.remove_prefix(step.used);
  }
  out.is_done = decoder.is_done();
  out.is_malformed = decoder.is_malformed();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Outcome whole = decode(text, size);
  fuzz::promise(whole == decode(text, 1), "byte by byte it is the same");
  fuzz::promise(whole == decode(text, 1 + data[0] % 16), "and in pieces");
  // What we write, we read.
  const http::ChunkLine line(size);
  const std::string written = std::string(line.text()) + std::string(text) +
                              std::string(http::kChunkEnd) + std::string(http::kLastChunk);
  const Outcome again = decode(written, 7);
  fuzz::promise(again.is_done && again.content == text, "our own chunks come apart again");
  return 0;
}
