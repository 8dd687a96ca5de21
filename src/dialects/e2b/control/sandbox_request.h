// The bodies and queries of E2B's control plane, checked and bounded. Unknown fields are ignored,
// because clients may be newer than the server. Known features that are not supported are refused.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dialects/e2b/control/egress.h"
#include "http/message.h"
#include "sessions/session_request.h"
#include "store/session_record.h"

namespace glovebox::e2b {

inline constexpr std::uint64_t kTimeoutV1 = 15;  // seconds; where the request gives none
inline constexpr std::uint64_t kTimeoutV2 = 300;
inline constexpr std::uint64_t kMaxForks = 32;

struct CreateSandboxRequest {
  std::string template_id = "base";
  sessions::CreateRequest request{};  // without template, snapshot and net
  EgressRequest egress{};
  bool has_mcp = false;  // the client starts an MCP gateway in it
};
Result<CreateSandboxRequest> parse_create(std::string_view body, std::uint64_t default_timeout);

struct ConnectRequest {
  std::uint64_t timeout_s = 0;
  bool memory = true;  // false: a paused sandbox starts anew
};
Result<ConnectRequest> parse_connect(std::string_view body, std::uint64_t default_timeout);

// {"timeout":60}, required; zero: expire now.
Result<std::uint64_t> parse_timeout(std::string_view body);
// {"duration":60}
Result<std::uint64_t> parse_refresh(std::string_view body);
// {"memory":true}; nothing: not given.
Result<std::optional<bool>> parse_memory(std::string_view body);

struct ForkRequest {
  std::uint64_t count = 1;
  std::uint64_t timeout_s = kTimeoutV1;
};
Result<ForkRequest> parse_fork(std::string_view body);

struct SnapshotRequest {
  std::string name{};
  std::optional<bool> memory{};
};
Result<SnapshotRequest> parse_snapshot(std::string_view body);

// All but "template", which needs a lookup.
Result<store::SessionFilter> parse_list(const http::Params& query);
// `limit` of a listing, at most 100.
Result<std::uint32_t> parse_limit(const http::Params& query);

// "a=b%2520c&d=e": the parameter after the query itself was decoded.
Result<std::vector<std::pair<std::string, std::string>>> parse_metadata_filter(
    std::string_view text);
// RFC 3339, as milliseconds since 1970.
Result<std::int64_t> parse_time(std::string_view text);

}  // namespace glovebox::e2b
