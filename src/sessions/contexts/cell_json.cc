#include "sessions/contexts/cell_json.h"

#include <boost/json.hpp>
#include <cstdio>

#include "wire/guest/guest_result.h"

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

json::object said(std::string_view code, std::string_view name, std::string_view message) {
  return {{"code", code},
          {"name", name},
          {"message", message},
          {"traceback", json::array()},
          {"line", nullptr}};
}

}  // namespace

// A timeout or the end of the interpreter takes precedence over an exception that the code reports.
json::value cell_error(const CellReport& report, json::object exception) {
  if (report.outcome.timed_out) {
    return said("timed_out", "TimeoutError",
                report.restarted ? "the time limit was reached, and the code did not stop when it "
                                   "was interrupted: the context was restarted and is empty"
                                 : "the time limit was reached, and the code was interrupted");
  }
  if (!report.died.empty()) {
    return said(report.outcome.oom_killed ? "oom_killed" : "context_died", "ContextDied",
                report.died);
  }
  if (exception.empty()) return nullptr;
  return exception;
}

namespace {

void add_results(json::object& object, const CellReport& report) {
  wire::SortedResults sorted = wire::sort_results(report.results);
  object["result"] = std::move(sorted.main);
  object["results"] = std::move(sorted.shown);
  object["error"] = cell_error(report, std::move(sorted.exception));
}

std::string metrics_json(const CellReport& report) {
  char text[128];
  std::snprintf(text, sizeof text, "{\"wall_ms\":%.3f,\"queue_ms\":%.3f,\"output_bytes\":%llu}",
                static_cast<double>(report.outcome.wall.count()) / 1000.0,
                static_cast<double>(report.queued.count()) / 1000.0,
                static_cast<unsigned long long>(report.outcome.output_bytes));
  return text;
}

}  // namespace

std::string cell_exit_json(const CellAnswer& about, const CellReport& report) {
  const Outcome& outcome = report.outcome;
  json::object object{{"request_id", about.request_id}, {"context", about.context},
                      {"language", about.language},     {"cell", report.cell},
                      {"exit_code", outcome.exit_code}, {"signal", nullptr}};
  if (outcome.signal != 0) object["signal"] = outcome.signal;
  add_results(object, report);
  object["timed_out"] = outcome.timed_out;
  object["oom_killed"] = outcome.oom_killed;
  object["truncated"] = outcome.truncated;
  object["restarted"] = report.restarted;
  object["warm"] = report.warm;
  std::string text = json::serialize(object);
  text.pop_back();
  return text + ",\"metrics\":" + metrics_json(report) + "}\n";
}

CellValue cell_value(const CellReport& report) {
  json::object all;
  add_results(all, report);
  CellValue value;
  value.error = std::move(all["error"]);
  if (json::object* forms = all["result"].if_object()) {
    json::value* plain = forms->if_contains("application/json");
    if (plain == nullptr) plain = forms->if_contains("text/plain");
    if (plain != nullptr) value.result = std::move(*plain);
  }
  return value;
}

}  // namespace glovebox::sessions
