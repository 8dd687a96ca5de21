// The bodies and queries of the sandbox routes, checked and bounded. session_plan and
// SessionCreator check them against templates, projects and the administrator's limits.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "model/session.h"
#include "model/wall.h"
#include "store/session_record.h"
#include "wire/json/object_reader.h"

namespace glovebox::sessions {

inline constexpr std::size_t kMaxMetadata = 64;
inline constexpr std::size_t kMaxMetadataKey = 256;
inline constexpr std::size_t kMaxMetadataValue = 4096;
inline constexpr std::size_t kMaxAgentId = 256;
inline constexpr std::size_t kMaxSandboxName = 63;
inline constexpr std::size_t kMaxSnapshotName = 128;

struct CreateRequest {
  std::string template_name;  // empty: the default, or the snapshot's
  std::string snapshot;       // an id, or empty
  ProfileRequest profile;
  std::optional<std::uint64_t> ttl_s;
  std::vector<std::string> env;
  store::Metadata metadata;
  OnTimeout on_timeout = OnTimeout::kKill;
  std::string agent_id;
  std::string name;  // for people; unique among the living sandboxes of the project; or empty
  bool private_ports = false;
  std::string host_mask{};  // see SessionRecord
  std::optional<Grade> min_grade;
  // Of the dialect, where the request has no limit of its own.
  LimitDefaults default_limits{};
  // The request has no profile.net; the dialect added a network that its clients expect. On a host
  // without networks the sandbox is created without one.
  bool net_is_default = false;
  // The result of preparing its packages (PreparedPackages); empty until then.
  std::string set_template;
  std::string set_layer;
};

// Fields that are not given stay unchanged.
struct ChangeRequest {
  std::optional<std::uint64_t> ttl_s;
  std::optional<store::Metadata> metadata;  // replaces all of it
  std::optional<net::NetPolicy> net;        // what it may reach from now on
  std::optional<OnTimeout> on_timeout;
};

// Checks sizes and refuses NUL. `value` is the field "metadata" of the object being read.
Result<store::Metadata> read_metadata(const wire::ObjectReader& fields,
                                      const boost::json::value& value);

// Agent ids that begin with this are not for clients to choose: a dialect gives them to its
// sandboxes, whose limits the administrator sets. A stored name.
inline constexpr std::string_view kReservedAgentPrefix = "mcp:";
// Reads the field "agent_id". kInvalidArgument: it has the reserved prefix.
Result<std::optional<std::string>> read_agent_id(wire::ObjectReader& fields);

Result<CreateRequest> parse_create_request(std::string_view body);
Result<ChangeRequest> parse_change_request(std::string_view body);
// {ttl_s?}; the body may be empty.
Result<std::optional<std::uint64_t>> parse_keepalive_request(std::string_view body);
// {name?}; the body may be empty.
Result<std::string> parse_snapshot_request(std::string_view body);

}  // namespace glovebox::sessions
