// The user of the sandbox that a request to the agent names.
#pragma once

#include <string>

#include "http/message.h"

namespace glovebox::e2b {

// Of "Authorization: Basic"; empty: no user is named.
std::string user_of(const http::Request& request);

}  // namespace glovebox::e2b
