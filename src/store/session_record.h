// The records of sessions and snapshots, and the queries for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/id.h"
#include "base/result.h"
#include "model/dependencies.h"
#include "model/limits.h"
#include "model/session.h"
#include "model/wall.h"

namespace glovebox::store {

struct SnapshotTag {
  static constexpr std::string_view kPrefix = "sn";
  static constexpr const char* kWhat = "snapshot";
};
using SnapshotId = StrongId<SnapshotTag>;

using Metadata = std::map<std::string, std::string>;

// Stored in the place of the token of a session that is over and had one.
inline constexpr std::string_view kEndedPortToken = "ended";

struct SessionRecord {
  SandboxId id;
  std::int64_t seq = 0;  // its place in the order of sessions; the store's
  std::string project{};
  std::string key_id{};
  std::string template_name{};
  std::string template_id{};  // of one that its project made; else empty
  std::string snapshot{};     // it was made from; or empty
  SessionState state = SessionState::kRunning;
  std::string reason{};  // of its state, for people; or empty
  std::string agent_id{};
  std::string name{};  // for people: no other living one of its project has it; or empty
  Metadata metadata{};
  std::vector<std::string> env{};  // "NAME=value"; not kept when it is over
  OnTimeout on_timeout = OnTimeout::kKill;
  bool paused_files_only = false;  // while it is paused: its processes have ended
  std::uint64_t ttl_s = 0;
  // Wall clock, milliseconds since 1970, UTC. `expires_ms` of a paused one is when it is given up.
  std::int64_t created_ms = 0;
  std::int64_t expires_ms = 0;
  std::int64_t ended_ms = 0;  // zero: not yet
  EngineKind engine = EngineKind::kJail;
  WallSet walls{};
  Limits limits{};
  std::string profile{};  // its hash
  // Guards the ports of one guest and nothing of ours, and must be there after a restart; the file
  // is ours alone. Empty: the ports are open. Stored as kEndedPortToken when it is over.
  std::string port_token{};
  std::string net = "\"none\"";  // what it may reach, as net::canonical_text() writes it
  Dependencies dependencies{};   // those of its template or snapshot included
  std::string layer{};           // that has them; or empty
  // The Host that services in it see, with "${PORT}" for the port; empty: localhost and the port.
  std::string host_mask{};
  bool operator==(const SessionRecord&) const = default;
};

// What the record of a session keeps of its metadata when it is over.
inline constexpr std::size_t kMaxEndedMetadataBytes = 4096;
// Leaves out what a session's record does not keep when it is over: its environment, and metadata
// beyond the bound; the shortest pairs stay.
void reduce_to_ended(SessionRecord& session);

// What it counts for in its project's usage.
std::uint64_t stored_bytes(const SessionRecord& session);

// What a page is ordered by; the order of creation among equals.
enum class SessionSort : std::uint8_t { kCreated, kExpires, kState, kTemplate, kName };

struct SessionFilter {
  std::vector<SessionState> states{};  // any of them; empty: all
  std::optional<std::string> template_name{};
  std::optional<std::string> agent_id{};
  // It has this name, or an id that begins with it (kLeastIdPrefix letters or more).
  std::optional<std::string> name_or_prefix{};
  std::optional<std::string> snapshot{};                        // it was made from
  std::vector<std::pair<std::string, std::string>> metadata{};  // all of them
  std::optional<std::int64_t> created_from_ms{};                // this or later
  bool oldest_first = false;
  std::uint32_t limit = 50;  // 1 to kMaxSessionPage
  std::string cursor{};      // `next_cursor` of the page before, in the same order
  // A part of its id, name, agent_id, template or the first 4 KB of its metadata, in search_form();
  // empty: all.
  std::string search{};
  // Pages by their place instead of by a cursor: in any order, and with the total. Of the newest
  // kMostSessionsSorted sessions of the project.
  std::optional<std::uint32_t> offset{};
  SessionSort sort = SessionSort::kCreated;  // only with an offset; descending unless oldest_first
};
inline constexpr std::uint32_t kMaxSessionPage = 200;
inline constexpr std::uint32_t kMostSessionsSorted = 2048;
inline constexpr std::size_t kLeastIdPrefix = 4;  // "sb" and two letters

// Newest first, unless the filter says otherwise. Sessions that are added while a client pages do
// not shift the pages.
struct SessionPage {
  std::vector<SessionRecord> sessions{};
  std::string next_cursor{};  // empty on the last page
  // With an offset: how many there are, of all pages; and whether there are older ones beyond the
  // bound, which are not counted.
  std::optional<std::uint64_t> total{};
  bool is_total_bounded = false;
};

// A place in the order of sessions; opaque to clients.
std::string encode_session_cursor(std::int64_t seq);
Result<std::int64_t> parse_session_cursor(std::string_view text);

// Its content is a file beside the database, named after it.
struct SnapshotRecord {
  SnapshotId id = SnapshotId::make();
  std::string project{};
  std::string name{};
  std::string sandbox{};
  std::string template_name{};
  std::string template_id{};  // as a session's
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  std::int64_t created_ms = 0;
  Dependencies dependencies{};  // of the sandbox it was made from: they are not in its content
  std::string layer{};          // that has them; or empty
  std::string image{};          // the id of the image that it was made of; or empty
  std::string image_name{};     // by which that was named
  bool operator==(const SnapshotRecord&) const = default;
};

// As columns have them. No text has a NUL in it; the creator of a record ensures that.
std::string pack_texts(const std::vector<std::string>& texts);
std::vector<std::string> unpack_texts(std::string_view packed);
std::string pack_metadata(const Metadata& metadata);
Metadata unpack_metadata(std::string_view packed);
// Empty when there are none.
std::string pack_dependencies(const Dependencies& dependencies);
Dependencies unpack_dependencies(std::string_view packed);
// What pack_metadata's text contains if, and only if, this pair is in there.
std::string packed_pair(std::string_view key, std::string_view value);

}  // namespace glovebox::store
