// A path inside a guest: absolute, no "." or ".." components, no NUL, bounded. Resolved by our
// program inside the sandbox only; the host never opens one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox {

class GuestPath {
 public:
  static constexpr std::size_t kMaxBytes = 1024;

  // Accepts "/a//b/" as "/a/b"; a relative path is taken below /home/user, the guest's home.
  static Result<GuestPath> parse(std::string_view text);

  const std::string& str() const { return text_; }
  const char* c_str() const { return text_.c_str(); }
  bool operator==(const GuestPath&) const = default;

 private:
  explicit GuestPath(std::string text) : text_(std::move(text)) {}
  std::string text_;
};

}  // namespace glovebox
