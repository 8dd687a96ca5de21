#include "runs/run_log.h"

#include <boost/json.hpp>
#include <utility>

#include "base/wall_clock.h"

namespace glovebox::runs {
namespace {

namespace json = boost::json;

std::chrono::microseconds since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() -
                                                               began);
}

store::RunRecord begin_record(const RunHeader& run) {
  store::RunRecord record;
  record.id = run.id;
  record.request_id = run.request_id;
  record.project = run.project;
  record.key_id = run.key_id;
  record.template_name = run.template_name;
  record.language = run.language;
  record.profile = run.profile_hash;
  record.code = run.code;
  record.started_ms = run.started_ms;
  record.finished_ms = wall_clock_ms();
  return record;
}

}  // namespace

store::RunStatus status_of(const node::RunReport& report) {
  const Outcome& outcome = report.outcome;
  if (report.cancelled) return store::RunStatus::kCancelled;
  if (outcome.timed_out) return store::RunStatus::kTimedOut;
  if (outcome.oom_killed) return store::RunStatus::kOomKilled;
  if (outcome.signal != 0) return store::RunStatus::kKilled;
  return outcome.exit_code == 0 ? store::RunStatus::kOk : store::RunStatus::kFailed;
}

void RunLog::publish_finished(const store::RunRecord& record) {
  json::object data{{"id", record.id.str()},
                    {"request_id", record.request_id},
                    {"template", record.template_name},
                    {"status", store::run_status_name(record.status)},
                    {"exit_code", record.exit_code},
                    {"at", utc_text(record.finished_ms)}};
  events_.publish(record.project, "run.finished", json::serialize(data));
}

void RunLog::started(const RunHeader& run) {
  json::object data{{"id", run.id.str()},
                    {"request_id", run.request_id},
                    {"template", run.template_name},
                    {"at", utc_text(run.started_ms)}};
  events_.publish(run.project, "run.started", json::serialize(data));
}

void RunLog::finished(const RunHeader& run, const node::RunReport& report, std::string out,
                      std::string err, std::string exit_json) {
  const Outcome& outcome = report.outcome;
  store::RunRecord record = begin_record(run);
  record.status = status_of(report);
  record.exit_code = outcome.exit_code;
  record.wall_us = outcome.wall.count();
  if (cpu_is_counted(outcome)) record.cpu_us = outcome.usage.cpu.count();
  record.peak_memory_bytes = outcome.usage.peak_memory_bytes;
  record.warm = report.warm;
  record.engine = engine_name(outcome.engine);
  record.grade = grade_name(grade_of(outcome.engine, outcome.walls));
  record.out = std::move(out);
  record.err = std::move(err);
  record.answer = std::move(exit_json);
  metrics_.count_run(record.status, report.warm);
  metrics_.count_phase(Phase::kQueue, report.queued);
  metrics_.count_phase(Phase::kSetup, outcome.setup);
  metrics_.count_phase(Phase::kRun, outcome.wall);
  metrics_.count_phase(Phase::kTotal, since(run.began));
  metrics_.activity.count_run(record.project, report.queued + outcome.setup);
  publish_finished(record);
  store_.add_run(std::move(record));
}

void RunLog::failed(const RunHeader& run, std::string code, std::string message) {
  store::RunRecord record = begin_record(run);
  record.status = store::RunStatus::kError;
  record.exit_code = kExitGloveboxFailed;
  metrics_.count_refusal(code, record.project);
  metrics_.count_run(record.status, false);
  record.error_code = std::move(code);
  record.error_message = std::move(message);
  publish_finished(record);
  store_.add_run(std::move(record));
}

}  // namespace glovebox::runs
