// A sandbox's network policy as a session record keeps it (net::canonical_text).
#pragma once

#include <boost/json/fwd.hpp>
#include <string>

#include "net/net_policy.h"

namespace glovebox::wire {

// A text that cannot be read reaches nothing.
net::NetPolicy stored_policy(const std::string& text);
// For showing it, without reading its rules: a list of sandboxes has many. "none" for what is no
// JSON.
boost::json::value stored_policy_json(const std::string& text);

}  // namespace glovebox::wire
