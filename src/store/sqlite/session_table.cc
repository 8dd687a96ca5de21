#include "store/sqlite/session_table.h"

#include <algorithm>
#include <array>
#include <optional>

namespace glovebox::store {
namespace {

constexpr std::string_view kSessionColumns =
    "seq, id, project, key_id, template, snapshot, state, reason, agent_id, metadata, env, "
    "on_timeout, ttl_s, created_ms, expires_ms, ended_ms, engine, walls, memory_bytes, disk_bytes, "
    "disk_inodes, pids, cpu_thousandths, limits_asked_for, profile, port_token, template_id, net, "
    "dependencies, layer, paused_files_only, host_mask, name";

constexpr int kStopped = static_cast<int>(SessionState::kStopped);
static_assert(static_cast<int>(SessionState::kError) == kStopped + 1);

constexpr std::size_t kMostPairs = 8;              // of one filter
constexpr std::uint64_t kMostSessionsRead = 2000;  // rows that one list reads

Result<SessionRecord> read_session(const Statement& row) {
  TRY(SandboxId id, SandboxId::parse(row.text(1)));
  SessionRecord session{.id = std::move(id),
                        .seq = row.integer(0),
                        .project = row.text(2),
                        .key_id = row.text(3),
                        .template_name = row.text(4),
                        .template_id = row.text(26),
                        .snapshot = row.text(5),
                        .state = static_cast<SessionState>(row.integer(6)),
                        .reason = row.text(7),
                        .agent_id = row.text(8),
                        .name = row.text(32),
                        .metadata = unpack_metadata(row.text(9)),
                        .env = unpack_texts(row.text(10)),
                        .on_timeout = static_cast<OnTimeout>(row.integer(11)),
                        .paused_files_only = row.integer(30) != 0,
                        .ttl_s = static_cast<std::uint64_t>(row.integer(12)),
                        .created_ms = row.integer(13),
                        .expires_ms = row.integer(14),
                        .ended_ms = row.integer(15),
                        .engine = static_cast<EngineKind>(row.integer(16)),
                        .walls = WallSet(static_cast<std::uint32_t>(row.integer(17))),
                        .profile = row.text(24),
                        .port_token = row.text(25),
                        .net = row.text(27),
                        .dependencies = unpack_dependencies(row.text(28)),
                        .layer = row.text(29),
                        .host_mask = row.text(31)};
  session.limits.memory_bytes = static_cast<std::uint64_t>(row.integer(18));
  session.limits.disk_bytes = static_cast<std::uint64_t>(row.integer(19));
  session.limits.disk_inodes = static_cast<std::uint32_t>(row.integer(20));
  session.limits.pids = static_cast<std::uint32_t>(row.integer(21));
  session.limits.cpu_thousandths = static_cast<std::uint32_t>(row.integer(22));
  session.limits.asked_for = static_cast<std::uint8_t>(row.integer(23));
  return session;
}

// `more`: further columns, with values that are SQL.
Result<> write_changes(Database& db, const SessionRecord& session, const std::string& more) {
  TRY(Statement update,
      db.prepare(
          "UPDATE sessions SET state = ?, reason = ?, metadata = ?, ttl_s = ?, "
          "expires_ms = ?, ended_ms = ?, walls = ?, net = ?, bytes = ?, paused_files_only = ?, "
          "on_timeout = ?" +
          more + " WHERE id = ? AND state < ?"));
  const std::string metadata = pack_metadata(session.metadata);
  TRY_OK(update
             .bind(static_cast<int>(session.state), session.reason, Blob{metadata}, session.ttl_s,
                   session.expires_ms, session.ended_ms, session.walls.bits(), session.net,
                   stored_bytes(session), static_cast<int>(session.paused_files_only),
                   static_cast<int>(session.on_timeout), session.id.str(), kStopped)
             .run());
  if (db.changes() == 0) return fail(Errc::kConflict, "the sandbox has ended");
  return {};
}

// A short policy is never refused: the server itself sets one when it takes a sandbox's network
// away.
std::uint64_t counted_net(const std::string& net) {
  constexpr std::size_t kShortNet = 256;
  return std::max(net.size(), kShortNet);
}

Result<std::vector<SessionRecord>> read_all(Statement& select) {
  std::vector<SessionRecord> sessions;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return sessions;
    TRY(SessionRecord session, read_session(select));
    sessions.push_back(std::move(session));
  }
}

}  // namespace

Result<std::int64_t> SessionTable::insert(const SessionRecord& session) {
  const std::uint64_t bytes = stored_bytes(session);
  TRY_OK(quota_.admit(session.project, bytes));
  TRY(Statement insert,
      db_.prepare("INSERT INTO sessions(id, project, key_id, template, snapshot, state, reason, "
                  "agent_id, metadata, env, on_timeout, ttl_s, created_ms, expires_ms, ended_ms, "
                  "engine, walls, memory_bytes, disk_bytes, disk_inodes, pids, cpu_thousandths, "
                  "limits_asked_for, profile, port_token, template_id, net, dependencies, layer, "
                  "bytes, paused_files_only, host_mask, name) "
                  "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  const std::string metadata = pack_metadata(session.metadata);
  const std::string env = pack_texts(session.env);
  const std::string dependencies = pack_dependencies(session.dependencies);
  const Limits& limits = session.limits;
  TRY_OK(insert
             .bind(session.id.str(), session.project, session.key_id, session.template_name,
                   session.snapshot, static_cast<int>(session.state), session.reason,
                   session.agent_id, Blob{metadata}, Blob{env},
                   static_cast<int>(session.on_timeout), session.ttl_s, session.created_ms,
                   session.expires_ms, session.ended_ms, static_cast<int>(session.engine),
                   session.walls.bits(), limits.memory_bytes, limits.disk_bytes, limits.disk_inodes,
                   limits.pids, limits.cpu_thousandths, static_cast<int>(limits.asked_for),
                   session.profile, session.port_token, session.template_id, session.net,
                   Blob{dependencies}, session.layer, bytes,
                   static_cast<int>(session.paused_files_only), session.host_mask, session.name)
             .run());
  return db_.number("SELECT last_insert_rowid()");
}

Result<> SessionTable::update(const SessionRecord& session) {
  if (is_over(session.state)) {
    SessionRecord ended = session;
    reduce_to_ended(ended);
    return write_changes(db_, ended,
                         ", env = x'', port_token = iif(port_token = '', '', '" +
                             std::string(kEndedPortToken) + "')");
  }
  // Only of its metadata and its network policy: the rest is short, and a change of its state is
  // never refused.
  TRY(Statement select, db_.prepare("SELECT length(metadata), net FROM sessions WHERE id = ?"));
  TRY(const bool row, select.bind(session.id.str()).next());
  const std::uint64_t before =
      row ? static_cast<std::uint64_t>(select.integer(0)) + counted_net(select.text(1)) : 0;
  select = Statement();
  const std::uint64_t after = pack_metadata(session.metadata).size() + counted_net(session.net);
  if (row && after > before) {
    TRY_OK(quota_.admit(session.project, after - before));
  }
  return write_changes(db_, session, "");
}

Result<SessionRecord> SessionTable::find(const std::string& project, const SandboxId& id) {
  TRY(Statement select, db_.prepare("SELECT " + std::string(kSessionColumns) +
                                    " FROM sessions WHERE id = ?1 AND (?2 = '*' OR project = ?2)"));
  TRY(const bool row, select.bind(id.str(), project).next());
  if (!row) return fail(Errc::kNotFound, "there is no such sandbox");
  return read_session(select);
}

namespace {

std::string order_of(const SessionFilter& filter) {
  const std::string way = filter.oldest_first ? " ASC" : " DESC";
  const char* column = nullptr;
  switch (filter.sort) {
    case SessionSort::kCreated:
      break;
    case SessionSort::kExpires:
      column = "expires_ms";
      break;
    case SessionSort::kState:
      column = "state";
      break;
    case SessionSort::kTemplate:
      column = "template";
      break;
    case SessionSort::kName:
      column = "name";
      break;
  }
  const std::string first = column != nullptr ? std::string(column) + way + ", " : std::string();
  return " ORDER BY " + first + "seq" + way;
}

}  // namespace

Result<SessionPage> SessionTable::list(const std::string& project, const SessionFilter& filter) {
  if (filter.limit == 0 || filter.limit > kMaxSessionPage) {
    return fail(Errc::kInvalidArgument, "limit: must be 1 to " + std::to_string(kMaxSessionPage));
  }
  if (filter.metadata.size() > kMostPairs) {
    return fail(Errc::kInvalidArgument, "metadata: at most 8 pairs can be filtered by");
  }
  const bool is_placed = filter.offset.has_value();
  // Placed pages are of the newest sessions, whichever way they are shown.
  const bool is_ascending = filter.oldest_first && !is_placed;
  std::int64_t behind = is_ascending ? 0 : INT64_MAX;
  if (!filter.cursor.empty()) {
    TRY(behind, parse_session_cursor(filter.cursor));
  }
  std::uint32_t states = 0;  // a bit per state
  for (const SessionState state : filter.states) states |= 1u << static_cast<unsigned>(state);
  std::array<std::string, kMostPairs> pairs;
  std::array<std::optional<Blob>, kMostPairs> wanted;
  for (std::size_t i = 0; i < filter.metadata.size(); ++i) {
    pairs[i] = packed_pair(filter.metadata[i].first, filter.metadata[i].second);
    wanted[i] = Blob{pairs[i]};
  }
  // An index has the rows in their order, and of the living only those: a project's list reads
  // neither other projects' rows nor, for the living, its ended ones.
  const bool only_living =
      states != 0 && (states >> static_cast<unsigned>(SessionState::kStopped)) == 0;
  const bool all = project == "*";
  const std::string order = is_ascending ? " ORDER BY seq ASC" : " ORDER BY seq DESC";
  const std::string from = std::string(" FROM sessions") +
                           (only_living ? (all ? " INDEXED BY sessions_living"
                                               : " INDEXED BY sessions_living_by_project")
                                        : (all ? "" : " INDEXED BY sessions_by_project")) +
                           " WHERE seq " + (is_ascending ? ">" : "<") + " ?1 AND " +
                           (all ? "?2 = '*'" : "project = ?2") +
                           (only_living ? " AND state < " + std::to_string(kStopped) : "");
  // Where this page ends even if it is not full: one request reads no more rows than that.
  std::int64_t last = is_ascending ? INT64_MAX : 0;
  bool is_bounded = false;
  {
    TRY(Statement bound, db_.prepare("SELECT seq" + from + order + " LIMIT 2 OFFSET ?3"));
    TRY(const bool row,
        bound.bind(behind, project, (is_placed ? kMostSessionsSorted : kMostSessionsRead) - 1)
            .next());
    const std::int64_t seq = row ? bound.integer(0) : 0;
    TRY(is_bounded, row ? bound.next() : Result<bool>(false));
    if (is_bounded) last = seq;
  }
  // A filter that is not given is NULL or zero.
  std::string sql = from;
  sql += " AND seq " + std::string(is_ascending ? "<=" : ">=") +
         " ?17 AND (?3 = 0 OR ((1 << state) & ?3) <> 0) "
         "AND (?4 IS NULL OR template = ?4) AND (?5 IS NULL OR agent_id = ?5) "
         "AND (?7 IS NULL OR snapshot = ?7) AND (?8 IS NULL OR created_ms >= ?8) ";
  for (std::size_t i = 0; i < kMostPairs; ++i) {
    const std::string at = "?" + std::to_string(9 + i);
    sql += "AND (" + at + " IS NULL OR instr(metadata, " + at + ") > 0) ";
  }
  sql += "AND (?18 IS NULL OR name = ?18 OR (length(?18) >= " + std::to_string(kLeastIdPrefix) +
         " AND substr(id, 1, length(?18)) = ?18)) "
         "AND (?19 = '' OR has_text(?19, id, name, agent_id, template, "
         "substr(metadata, 1, 4096)))";
  const auto bind = [&](Statement& statement) {
    // One more than asked for tells if there is a next page.
    statement.bind(behind, project, states, filter.template_name, filter.agent_id,
                   filter.limit + (is_placed ? 0 : 1), filter.snapshot, filter.created_from_ms,
                   wanted[0], wanted[1], wanted[2], wanted[3], wanted[4], wanted[5], wanted[6],
                   wanted[7], last, filter.name_or_prefix, filter.search,
                   filter.offset.value_or(0));
  };
  TRY(Statement select,
      db_.prepare("SELECT " + std::string(kSessionColumns) + sql +
                  (is_placed ? order_of(filter) : order) + " LIMIT ?6 OFFSET ?20"));
  bind(select);
  SessionPage page;
  TRY(page.sessions, read_all(select));
  if (is_placed) {
    TRY(Statement count, db_.prepare("SELECT count(*)" + sql + " AND ?6 >= 0 AND ?20 >= 0"));
    bind(count);
    TRY(const bool row, count.next());
    page.total = row ? static_cast<std::uint64_t>(count.integer(0)) : 0;
    page.is_total_bounded = is_bounded;
    return page;
  }
  if (page.sessions.size() > filter.limit) {
    page.sessions.pop_back();
    page.next_cursor = encode_session_cursor(page.sessions.back().seq);
  } else if (is_bounded) {
    page.next_cursor = encode_session_cursor(last);
  }
  return page;
}

Result<std::vector<SessionRecord>> SessionTable::living() {
  TRY(Statement select, db_.prepare("SELECT " + std::string(kSessionColumns) +
                                    " FROM sessions WHERE state < ? ORDER BY seq"));
  select.bind(kStopped);
  return read_all(select);
}

Result<SessionTable::Removed> SessionTable::remove_ended(const Removal& removal) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kBatch));
  Removed removed;
  std::vector<std::int64_t> places;
  {
    // The state as a literal: only then can the partial indexes be used, which have the order.
    TRY(Statement select,
        db_.prepare("SELECT seq, bytes FROM sessions INDEXED BY " +
                    std::string(removal.project ? "sessions_by_project_end" : "sessions_by_end") +
                    " WHERE state >= " + std::to_string(kStopped) +
                    (removal.project ? " AND project = ?1" : " AND ?1 IS NULL") +
                    " AND ended_ms < ?2 ORDER BY ended_ms LIMIT ?3"));
    select.bind(removal.project, removal.ended_before_ms.value_or(INT64_MAX), removal.max_sessions);
    while (!removal.until_bytes || removed.bytes < *removal.until_bytes) {
      TRY(const bool row, select.next());
      if (!row) break;
      places.push_back(select.integer(0));
      removed.bytes += static_cast<std::uint64_t>(select.integer(1));
    }
  }
  TRY(Statement remove, db_.prepare("DELETE FROM sessions WHERE seq = ?"));
  for (const std::int64_t seq : places) TRY_OK(remove.bind(seq).run());
  TRY_OK(transaction.commit());
  removed.sessions = places.size();
  return removed;
}

Result<std::optional<std::int64_t>> SessionTable::oldest_end_ms(const std::string& project) {
  TRY(Statement select,
      db_.prepare("SELECT ended_ms FROM sessions INDEXED BY sessions_by_project_end WHERE state "
                  ">= " +
                  std::to_string(kStopped) + " AND project = ? ORDER BY ended_ms LIMIT 1"));
  TRY(const bool row, select.bind(project).next());
  if (!row) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(select.integer(0));
}

Result<> SnapshotTable::insert(const SnapshotRecord& snapshot) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement insert,
      db_.prepare("INSERT INTO snapshots(id, project, name, sandbox, template, bytes, files, "
                  "created_ms, template_id, dependencies, layer, image, image_name) "
                  "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  const std::string dependencies = pack_dependencies(snapshot.dependencies);
  TRY_OK(quota_.admit(snapshot.project, kDefinitionRowBytes + dependencies.size()));
  TRY_OK(insert
             .bind(snapshot.id.str(), snapshot.project, snapshot.name, snapshot.sandbox,
                   snapshot.template_name, snapshot.bytes, snapshot.files, snapshot.created_ms,
                   snapshot.template_id, Blob{dependencies}, snapshot.layer, snapshot.image,
                   snapshot.image_name)
             .run());
  return transaction.commit();
}

Result<> SnapshotTable::remove(const SnapshotId& id) {
  TRY(Statement remove, db_.prepare("DELETE FROM snapshots WHERE id = ?"));
  TRY_OK(remove.bind(id.str()).run());
  if (db_.changes() == 0) return fail(Errc::kNotFound, "there is no such snapshot");
  return {};
}

Result<> SnapshotTable::set_layer(const SnapshotId& id, const std::string& layer) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kFsync));
  TRY(Statement update, db_.prepare("UPDATE snapshots SET layer = ? WHERE id = ?"));
  TRY_OK(update.bind(layer, id.str()).run());
  if (db_.changes() == 0) return fail(Errc::kNotFound, "there is no such snapshot");
  return transaction.commit();
}

Result<std::vector<SnapshotRecord>> SnapshotTable::all() {
  TRY(Statement select, db_.prepare("SELECT id, project, name, sandbox, template, bytes, files, "
                                    "created_ms, template_id, dependencies, layer, image, "
                                    "image_name FROM snapshots ORDER BY seq"));
  std::vector<SnapshotRecord> snapshots;
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return snapshots;
    TRY(SnapshotId id, SnapshotId::parse(select.text(0)));
    snapshots.push_back({.id = std::move(id),
                         .project = select.text(1),
                         .name = select.text(2),
                         .sandbox = select.text(3),
                         .template_name = select.text(4),
                         .template_id = select.text(8),
                         .bytes = static_cast<std::uint64_t>(select.integer(5)),
                         .files = static_cast<std::uint64_t>(select.integer(6)),
                         .created_ms = select.integer(7),
                         .dependencies = unpack_dependencies(select.text(9)),
                         .layer = select.text(10),
                         .image = select.text(11),
                         .image_name = select.text(12)});
  }
}

}  // namespace glovebox::store
