// A path of the guest's, as clients write it.
#include <string_view>

#include "base/guest_path.h"
#include "fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace glovebox;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto path = GuestPath::parse(text);
  if (!path) return 0;
  const std::string& clean = path->str();
  fuzz::promise(!clean.empty() && clean[0] == '/', "it is absolute");
  fuzz::promise(clean.size() <= GuestPath::kMaxBytes, "it is bounded");
  fuzz::promise(clean.find('\0') == std::string::npos, "it has no NUL");
  fuzz::promise(clean == "/" || clean.back() != '/', "it does not end in a slash");
  fuzz::promise((clean + "/").find("/../") == std::string::npos, "it never goes up");
  fuzz::promise((clean + "/").find("/./") == std::string::npos, "it has no empty step");
  fuzz::promise(clean.find("//") == std::string::npos, "it has no empty name");
  const auto again = GuestPath::parse(clean);
  fuzz::promise(again.has_value() && *again == *path, "the clean form stays as it is");
  return 0;
}
