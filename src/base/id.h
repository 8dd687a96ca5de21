// Names of sandboxes and launchers. One alphabet, one length, checked in parse(): an id in hand is
// therefore safe as a path component, a cgroup name, a DNS label and a log field.
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

// `bytes` random characters of [a-z0-9] from the kernel's CSPRNG.
std::string random_label(std::size_t length);

template <class Tag>
class StrongId {
 public:
  // Two letters of prefix and 20 of [a-z0-9].
  static constexpr std::size_t kLength = 22;

  static StrongId make() { return StrongId(std::string(Tag::kPrefix) + random_label(20)); }

  static Result<StrongId> parse(std::string_view text) {
    bool good = text.size() == kLength && text.substr(0, 2) == Tag::kPrefix;
    for (const char c : text) good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
    if (!good) return fail(Errc::kInvalidArgument, std::string("not a ") + Tag::kWhat + " id");
    return StrongId(std::string(text));
  }

  const std::string& str() const { return text_; }
  auto operator<=>(const StrongId&) const = default;

 private:
  explicit StrongId(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

struct SandboxTag {
  static constexpr std::string_view kPrefix = "sb";
  static constexpr const char* kWhat = "sandbox";
};
struct LauncherTag {
  static constexpr std::string_view kPrefix = "ln";
  static constexpr const char* kWhat = "launcher";
};
using SandboxId = StrongId<SandboxTag>;
using LauncherId = StrongId<LauncherTag>;

}  // namespace glovebox
