// A whole connection's bytes as requests, in one piece and byte by byte: both must come to the
// same.
#include <string>
#include <string_view>

#include "fuzz_target.h"
#include "http/server/request_reader.h"

namespace {

using glovebox::http::Request;
using glovebox::http::RequestReader;

constexpr std::size_t kMaxHeader = 4096;
constexpr std::size_t kMaxBody = 4096;

// What was read, as text; `step` bytes at a time.
std::string read_all(std::string_view bytes, std::size_t step) {
  std::string story;
  std::string pending;
  for (int requests = 0; requests < 4; ++requests) {
    RequestReader reader(kMaxHeader);
    bool in_body = false;
    auto outcome = RequestReader::Step::kNeedMore;
    for (;;) {
      std::size_t used = 0;
      if (!pending.empty() || in_body) {
        outcome = in_body ? reader.read_body(pending, used) : reader.read_head(pending, used);
        pending.erase(0, used);
      }
      if (outcome == RequestReader::Step::kDone && !in_body) {
        Request request;
        std::string path, reason;
        if (!reader.fill_head(request, path, reason)) return story;
        story += request.target + "|" + request.host + ";";
        reader.limit_body(kMaxBody);
        in_body = true;
        continue;
      }
      if (outcome != RequestReader::Step::kNeedMore) break;
      if (bytes.empty()) return story;
      pending += bytes.substr(0, step);
      bytes.remove_prefix(std::min(step, bytes.size()));
    }
    if (outcome != RequestReader::Step::kDone) return story;
    glovebox::fuzz::promise(reader.body_size() <= kMaxBody, "a body is bounded");
    story += reader.take_body() + ";";
  }
  return story;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Above the limits, what is refused depends on how much came at once.
  if (size > kMaxHeader / 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = read_all(bytes, size + 1);
  glovebox::fuzz::promise(read_all(bytes, 1) == whole, "pieces do not change what is read");
  return 0;
}
