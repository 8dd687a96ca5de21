#include "store/sqlite/run_table.h"

namespace glovebox::store {

namespace {

constexpr std::string_view kRunColumns =
    "r.seq, r.id, r.project, r.request_id, r.key_id, r.template, r.profile, r.language, "
    "r.started_ms, r.finished_ms, r.status, r.exit_code, r.wall_us, r.cpu_us, r.peak_memory, "
    "r.warm, r.engine, r.grade, r.error_code, r.error_message, r.cut";
constexpr int kColumnCount = 21;
constexpr std::uint64_t kMostRunsRead = 10'000;  // by one list

// Bits of `cut`.
constexpr int kOutCut = 1;
constexpr int kErrCut = 2;
constexpr int kAnswerCut = 4;
constexpr int kCodeCut = 8;

// Of `cpu_us`, which a column NOT NULL holds.
constexpr std::int64_t kNotCounted = -1;

std::optional<std::int64_t> counted(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

int cut_bits(const RunRecord& run) {
  return (run.out_cut ? kOutCut : 0) | (run.err_cut ? kErrCut : 0) |
         (run.answer_cut ? kAnswerCut : 0) | (run.code_cut ? kCodeCut : 0);
}

Result<RunRecord> read_run(const Statement& row) {
  TRY(RunId id, RunId::parse(row.text(1)));
  RunRecord run{.id = std::move(id),
                .request_id = row.text(3),
                .project = row.text(2),
                .key_id = row.text(4),
                .template_name = row.text(5),
                .profile = row.text(6),
                .language = row.text(7),
                .started_ms = row.integer(8),
                .finished_ms = row.integer(9),
                .status = static_cast<RunStatus>(row.integer(10)),
                .exit_code = static_cast<std::int32_t>(row.integer(11)),
                .wall_us = row.integer(12),
                .cpu_us = counted(row.integer(13)),
                .warm = row.integer(15) != 0,
                .engine = row.text(16),
                .grade = row.text(17),
                .error_code = row.text(18),
                .error_message = row.text(19),
                .out_cut = (row.integer(20) & kOutCut) != 0,
                .err_cut = (row.integer(20) & kErrCut) != 0,
                .answer_cut = (row.integer(20) & kAnswerCut) != 0,
                .code_cut = (row.integer(20) & kCodeCut) != 0};
  if (!row.is_null(14)) run.peak_memory_bytes = static_cast<std::uint64_t>(row.integer(14));
  return run;
}

}  // namespace

Result<std::int64_t> RunTable::load() {
  TRY(Statement select, db_.prepare("SELECT count(*), sum(bytes), max(seq) FROM runs"));
  TRY(const bool row, select.next());
  if (!row) return 0;
  runs_ = static_cast<std::uint64_t>(select.integer(0));
  bytes_ = static_cast<std::uint64_t>(select.integer(1));
  return select.integer(2);
}

Result<> RunTable::insert(const QueuedRuns& runs) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kBatch));
  TRY(Statement insert,
      db_.prepare("INSERT OR IGNORE INTO runs(seq, id, project, request_id, key_id, template, "
                  "profile, language, started_ms, finished_ms, status, exit_code, wall_us, cpu_us, "
                  "peak_memory, warm, engine, grade, error_code, error_message, cut, bytes) "
                  "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  TRY(Statement body,
      db_.prepare("INSERT INTO run_bodies(seq, out, err, answer, code) VALUES(?,?,?,?,?)"));
  std::uint64_t added = 0;
  std::uint64_t added_bytes = 0;
  for (const auto& queued : runs) {
    const RunRecord& run = queued->run;
    TRY_OK(insert
               .bind(queued->seq, run.id.str(), run.project, run.request_id, run.key_id,
                     run.template_name, run.profile, run.language, run.started_ms, run.finished_ms,
                     static_cast<int>(run.status), run.exit_code, run.wall_us,
                     run.cpu_us.value_or(kNotCounted), run.peak_memory_bytes,
                     static_cast<int>(run.warm), run.engine, run.grade, run.error_code,
                     run.error_message, cut_bits(run), queued->bytes)
               .run());
    if (db_.changes() == 0) continue;
    const std::optional<Blob> code =
        run.code.empty() ? std::nullopt : std::optional<Blob>(Blob{run.code});
    TRY_OK(body.bind(queued->seq, Blob{run.out}, Blob{run.err}, Blob{run.answer}, code).run());
    ++added;
    added_bytes += queued->bytes;
  }
  TRY_OK(transaction.commit());
  runs_ += added;
  bytes_ += added_bytes;
  return {};
}

Result<RunRecord> RunTable::find(const std::string& project, const RunId& id) {
  TRY(Statement select,
      db_.prepare("SELECT " + std::string(kRunColumns) +
                  ", b.out, b.err, b.answer, b.code FROM runs r JOIN run_bodies b ON b.seq = r.seq "
                  "WHERE r.id = ?1 AND (?2 = '*' OR r.project = ?2)"));
  TRY(const bool row, select.bind(id.str(), project).next());
  if (!row) return fail(Errc::kNotFound, "there is no such run");
  TRY(RunRecord run, read_run(select));
  run.out = select.text(kColumnCount);
  run.err = select.text(kColumnCount + 1);
  run.answer = select.text(kColumnCount + 2);
  if (!select.is_null(kColumnCount + 3)) run.code = select.text(kColumnCount + 3);
  return run;
}

Result<RunTable::Listed> RunTable::list(const std::string& project, const RunFilter& filter,
                                        std::int64_t before_seq, std::size_t limit) {
  Listed listed;
  // The order is the index's, or without a project the table's: nothing is sorted.
  const std::string from = project == "*" ? " FROM runs r WHERE ?1 = '*' AND r.seq < ?2 "
                                          : " FROM runs r INDEXED BY runs_by_project "
                                            "WHERE r.project = ?1 AND r.seq < ?2 ";
  const std::int64_t before = before_seq != 0 ? before_seq : INT64_MAX;
  {
    TRY(Statement bound,
        db_.prepare("SELECT r.seq, r.id" + from + "ORDER BY r.seq DESC LIMIT 2 OFFSET ?3"));
    TRY(const bool row, bound.bind(project, before, kMostRunsRead - 1).next());
    if (row) {
      RunCursor last{.seq = bound.integer(0), .run = bound.text(1)};
      TRY(const bool more, bound.next());
      if (more) listed.ended_at = std::move(last);
    }
  }
  // A filter that is not given is NULL, zero or empty.
  TRY(Statement select,
      db_.prepare("SELECT " + std::string(kRunColumns) + from +
                  "AND r.seq >= ?7 AND (?3 = 0 OR ((1 << r.status) & ?3) <> 0) "
                  "AND (?4 IS NULL OR r.template = ?4) AND (?5 IS NULL OR r.started_ms >= ?5) "
                  "AND (?8 IS NULL OR r.language = ?8) AND (?9 IS NULL OR r.started_ms < ?9) "
                  "AND (?10 = '' OR has_text(?10, r.id, r.template, r.language, r.error_code, "
                  "r.error_message)) ORDER BY r.seq DESC LIMIT ?6"));
  std::uint32_t statuses = 0;  // a bit per status
  for (const RunStatus status : filter.statuses) statuses |= 1u << static_cast<unsigned>(status);
  select.bind(project, before, statuses, filter.template_name, filter.since_ms,
              static_cast<std::uint64_t>(limit), listed.ended_at ? listed.ended_at->seq : 0,
              filter.language, filter.until_ms, filter.search);
  while (true) {
    TRY(const bool row, select.next());
    if (!row) return listed;
    TRY(RunRecord run, read_run(select));
    listed.runs.emplace_back(select.integer(0), std::move(run));
  }
}

Result<RunTable::Removed> RunTable::remove_oldest(const Removal& removal) {
  TRY(Transaction transaction, Transaction::begin(db_, Durability::kBatch));
  Removed removed;
  std::int64_t last_seq = 0;
  // With a project the order is that of the index, without one that of the table.
  const std::string from = removal.project
                               ? "FROM runs INDEXED BY runs_by_project WHERE project = ?1 AND seq "
                               : "FROM runs WHERE ?1 IS NULL AND seq ";
  {
    TRY(Statement select, db_.prepare("SELECT seq, bytes " + from + "< ?2 ORDER BY seq LIMIT ?3"));
    select.bind(removal.project, removal.before_seq.value_or(INT64_MAX),
                static_cast<std::uint64_t>(removal.max_runs));
    while (!removal.until_bytes || removed.bytes < *removal.until_bytes) {
      TRY(const bool row, select.next());
      if (!row) break;
      last_seq = select.integer(0);
      removed.bytes += static_cast<std::uint64_t>(select.integer(1));
      ++removed.runs;
    }
  }
  if (removed.runs == 0) return removed;
  TRY(Statement remove, db_.prepare("DELETE " + from + "<= ?2"));  // bodies go with them
  TRY_OK(remove.bind(removal.project, last_seq).run());
  TRY_OK(transaction.commit());
  runs_ -= removed.runs;
  bytes_ -= removed.bytes;
  return removed;
}

Result<std::optional<std::int64_t>> RunTable::oldest_seq(const std::string& project) {
  TRY(Statement select, db_.prepare("SELECT seq FROM runs INDEXED BY runs_by_project "
                                    "WHERE project = ? ORDER BY seq LIMIT 1"));
  TRY(const bool row, select.bind(project).next());
  if (!row) return std::optional<std::int64_t>();
  return std::optional<std::int64_t>(select.integer(0));
}

}  // namespace glovebox::store
