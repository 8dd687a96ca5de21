#include "dialects/e2b/envd/request_user.h"

#include <strings.h>

#include <string_view>

#include "base/base64.h"

namespace glovebox::e2b {
namespace {

constexpr std::string_view kBasicScheme = "Basic ";

}  // namespace

std::string user_of(const http::Request& request) {
  std::string_view value = request.header("Authorization");
  if (value.size() <= kBasicScheme.size() ||
      ::strncasecmp(value.data(), kBasicScheme.data(), kBasicScheme.size()) != 0) {
    return {};
  }
  value.remove_prefix(kBasicScheme.size());
  const auto decoded = base64_decode(value);
  if (!decoded) return {};
  return decoded->substr(0, decoded->find(':'));
}

}  // namespace glovebox::e2b
