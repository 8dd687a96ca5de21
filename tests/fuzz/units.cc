// Sizes and durations as people type them.
#include <string>
#include <string_view>

#include "base/units.h"
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto bytes = parse_size(text)) {
    fuzz::promise(*bytes <= 1'000'000'000'000'000ull, "a size is bounded");
    const auto again = parse_size(std::to_string(*bytes));
    fuzz::promise(again.has_value() && *again == *bytes, "the number of bytes is the same size");
  } else {
    fuzz::promise(bytes.error().message().size() < 300, "what is shown of it is bounded");
  }
  if (const auto time = parse_duration(text)) {
    fuzz::promise(time->count() >= 1 && time->count() <= 365ll * 24 * 3'600'000,
                  "a time is bounded");
    const auto again = parse_duration(std::to_string(time->count()) + "ms");
    fuzz::promise(again.has_value() && *again == *time, "the milliseconds are the same time");
  }
  return 0;
}
