// Query parameters that several routes share.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "http/message.h"
#include "store/session_record.h"

namespace glovebox::routing {

// A whole number from the query, or `otherwise` if it is missing.
Result<std::uint64_t> query_number(const http::Request& request, std::string_view name,
                                   std::uint64_t low, std::uint64_t high, std::uint64_t otherwise);

// q=&sort=-created&offset=&state=a,b&template=&agent_id=&match=&metadata.KEY=VALUE&limit=&cursor=
// `also`: a parameter that the route reads itself.
Result<store::SessionFilter> parse_session_filter(const http::Params& query,
                                                  std::string_view also = {});

}  // namespace glovebox::routing
