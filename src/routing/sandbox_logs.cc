#include "routing/sandbox_logs.h"

#include <boost/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "routing/query.h"

namespace glovebox::routing {

Task<http::Response> respond_with_logs(const Authenticator& authenticator,
                                       sessions::SessionRegistry& registry,
                                       const http::Request& request) {
  namespace json = boost::json;
  constexpr std::size_t kMost = sessions::SessionEntry::kLines;
  CO_TRY(const Caller caller, authenticator.caller_of(request));
  CO_TRY(const std::uint64_t limit, query_number(request, "limit", 1, kMost, kMost));
  std::string id(request.param("id"));
  CO_TRY(const std::vector<sessions::SessionLine> lines,
         co_await registry.lines(caller.project, std::move(id), limit));
  json::array entries;
  for (const sessions::SessionLine& line : lines) {
    entries.push_back({{"at", utc_text(line.at_ms)},
                       {"kind", line.kind},
                       {"message", to_utf8(line.message)},
                       {"process", line.process != 0 ? json::value(line.process) : nullptr}});
  }
  const json::object body{{"entries", std::move(entries)}};
  co_return http::Response::json(json::serialize(body) + "\n");
}

}  // namespace glovebox::routing
