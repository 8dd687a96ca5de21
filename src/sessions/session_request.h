// The bodies and queries of the routes of sandboxes: what a caller wants, checked and bounded. What
// templates, projects and ceilings say to it is session_plan's and the keeper's.
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
  bool private_ports = false;
  std::optional<Grade> min_grade;
  // profile.net was not said, but is what a dialect's clients take for granted: where this host can
  // give no network, they go without.
  bool net_is_default = false;
  // What its packages came to (PreparedPackages); empty until they have been prepared.
  std::string set_template;
  std::string set_layer;
};

// Whatever is not said stays as it is.
struct ChangeRequest {
  std::optional<std::uint64_t> ttl_s;
  std::optional<store::Metadata> metadata;  // all of it
  std::optional<net::NetPolicy> net;        // what it may reach from now on
};

// Bounded, and without a NUL. `value` is the field "metadata" of what is read.
Result<store::Metadata> read_metadata(const wire::ObjectReader& fields,
                                      const boost::json::value& value);

// The field "agent_id". Names that begin with "mcp:" are those of conversations (dialects/mcp),
// whose sandboxes have the limits that the administrator set for them.
Result<std::optional<std::string>> read_agent_id(wire::ObjectReader& fields);

Result<CreateRequest> parse_create_request(std::string_view body);
Result<ChangeRequest> parse_change_request(std::string_view body);
// {ttl_s?}; an empty body says nothing.
Result<std::optional<std::uint64_t>> parse_keepalive_request(std::string_view body);
// {name?}; an empty body says nothing.
Result<std::string> parse_snapshot_request(std::string_view body);

}  // namespace glovebox::sessions
