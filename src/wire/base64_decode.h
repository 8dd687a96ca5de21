// The other way of base64() in utf8.h, for bytes in a request.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::wire {

// The standard alphabet with padding, nothing else: no line breaks, no stray bits at the end.
Result<std::string> base64_decode(std::string_view text);

}  // namespace glovebox::wire
