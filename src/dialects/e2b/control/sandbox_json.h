// Sandboxes as E2B's control plane tells of them.
#pragma once

#include <boost/json/fwd.hpp>
#include <string>
#include <string_view>

#include "routing/app.h"
#include "http/message.h"
#include "store/session_record.h"

namespace glovebox::e2b {

// Clients switch features by it: all that this one had is here.
inline constexpr std::string_view kEnvdVersion = "0.6.13";

// What create, connect, resume and fork answer: with the tokens.
boost::json::object sandbox_json(const routing::App& app, const http::Request& request,
                                 const store::SessionRecord& record);
// In a listing.
boost::json::object listed_json(const store::SessionRecord& record);
// The same and more, with the access token.
boost::json::object detail_json(const routing::App& app, const http::Request& request,
                                const store::SessionRecord& record);

// Whole CPUs, rounded up.
std::uint32_t cpu_count(const Limits& limits);

}  // namespace glovebox::e2b
