// The Cookie header of requests. Pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "http/message.h"

namespace glovebox::http {

struct FoundCookie {
  std::size_t count = 0;  // how many cookies have this name
  std::string value;      // of the first one
};
// The name is compared exactly, as browsers store it. A page of another name can add a cookie of
// the same name by setting it for a parent domain; the caller decides what several of them mean.
FoundCookie find_cookie(const Headers& headers, std::string_view name);

// The Cookie headers without the cookies of these names; a header that is left empty is removed.
void remove_cookies(Headers& headers, std::string_view name);

}  // namespace glovebox::http
