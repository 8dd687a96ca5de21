#include "api/routes/run_record_routes.h"

#include <boost/json.hpp>
#include <charconv>
#include <utility>

#include "base/utf8.h"
#include "base/wall_clock.h"
#include "store/store_call.h"
#include "store/text_search.h"

namespace glovebox::api {

using http::Request;
using http::Response;
using http::ResponseWriter;
namespace {

namespace json = boost::json;

json::object summary_of(const store::RunRecord& run) {
  json::object object{{"id", run.id.str()},
                      {"request_id", run.request_id},
                      {"status", store::run_status_name(run.status)},
                      {"exit_code", run.exit_code},
                      {"template", run.template_name},
                      {"language", run.language},
                      {"profile", run.profile},
                      {"warm", run.warm},
                      {"engine", run.engine},
                      {"grade", run.grade},
                      {"key_id", run.key_id},
                      {"started_at", utc_text(run.started_ms)},
                      {"finished_at", utc_text(run.finished_ms)},
                      {"wall_us", run.wall_us}};
  object["cpu_us"] = run.cpu_us ? json::value(*run.cpu_us) : json::value(nullptr);
  object["peak_memory_bytes"] =
      run.peak_memory_bytes ? json::value(*run.peak_memory_bytes) : json::value(nullptr);
  if (run.status == store::RunStatus::kError) {
    object["error"] = {{"code", run.error_code}, {"message", to_utf8(run.error_message)}};
  }
  return object;
}

// The summary, the stored part of the output, and the original answer.
std::string whole_run(const store::RunRecord& run) {
  json::object object = summary_of(run);
  object["stdout"] = to_utf8(run.out);
  object["stderr"] = to_utf8(run.err);
  object["stdout_cut"] = run.out_cut;
  object["stderr_cut"] = run.err_cut;
  object["code"] = run.code.empty() ? json::value(nullptr) : json::value(to_utf8(run.code));
  object["code_cut"] = run.code_cut;
  std::string text = json::serialize(object);
  text.back() = ',';
  text += "\"answer\":";
  std::string_view answer = run.answer;
  while (!answer.empty() && answer.back() == '\n') answer.remove_suffix(1);
  text += answer.empty() ? "null" : answer;
  return text + "}\n";
}

template <class Number>
Result<Number> number_of(std::string_view name, std::string_view text, Number low, Number high) {
  Number number{};
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (ec != std::errc{} || end != text.data() + text.size() || number < low || number > high) {
    return fail(Errc::kInvalidArgument, std::string(name) + ": must be a whole number from " +
                                            std::to_string(low) + " to " + std::to_string(high));
  }
  return number;
}

constexpr std::size_t kMaxSearchBytes = 200;

// "failed,error"
Result<std::vector<store::RunStatus>> statuses_of(std::string_view text) {
  std::vector<store::RunStatus> statuses;
  while (true) {
    const std::string_view word = text.substr(0, text.find(','));
    const auto status = store::parse_run_status(word);
    if (!status) return fail(Errc::kInvalidArgument, "status: unknown run status");
    statuses.push_back(*status);
    if (word.size() == text.size()) return statuses;
    text.remove_prefix(word.size() + 1);
  }
}

Result<store::RunFilter> filter_of(const http::Params& query) {
  store::RunFilter filter;
  for (const auto& [name, value] : query) {
    if (name == "limit") {
      TRY(filter.limit, number_of<std::uint32_t>(name, value, 1, store::kMaxRunPage));
    } else if (name == "cursor") {
      filter.cursor = value;
    } else if (name == "template") {
      filter.template_name = value;
    } else if (name == "since_ms") {
      TRY(filter.since_ms, number_of<std::int64_t>(name, value, 0, 1ll << 52));
    } else if (name == "status") {
      TRY(filter.statuses, statuses_of(value));
    } else if (name == "language") {
      filter.language = value;
    } else if (name == "until_ms") {
      TRY(filter.until_ms, number_of<std::int64_t>(name, value, 0, 1ll << 52));
    } else if (name == "q") {
      if (value.size() > kMaxSearchBytes) {
        return fail(Errc::kInvalidArgument,
                    "q: must have at most " + std::to_string(kMaxSearchBytes) + " bytes");
      }
      filter.search = store::search_form(value);
    } else if (name != "project") {
      return fail(Errc::kInvalidArgument, name.substr(0, 60) + ": unknown parameter");
    }
  }
  return filter;
}

}  // namespace

std::span<const routing::RouteRow<RunRecordRoutes>> RunRecordRoutes::rows() {
  using http::Method;
  static constexpr routing::RouteRow<RunRecordRoutes> kRows[] = {
      {Method::kGet, "/v1/runs", routing::Access::kKey, &RunRecordRoutes::list_runs,
       "List the runs of your project"},
      {Method::kGet, "/v1/runs/{id}", routing::Access::kKey, &RunRecordRoutes::get_run,
       "Get a run with its output"},
  };
  return kRows;
}

Task<Response> RunRecordRoutes::list_runs(Request& request, ResponseWriter&) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  CO_TRY(const std::string project, routing::project_of(*who, request));
  CO_TRY(const store::RunFilter filter, filter_of(request.query));
  const store::Ask<store::RunPage> ask = [&](store::Callback<store::RunPage> done) {
    deps_.store.list_runs(project, filter, std::move(done));
  };
  CO_TRY(const store::RunPage page, co_await store::store_call(ask));
  json::array runs;
  for (const store::RunRecord& run : page.runs) {
    json::object summary = summary_of(run);
    if (project == "*") summary["project"] = run.project;
    runs.push_back(std::move(summary));
  }
  json::object body{{"runs", std::move(runs)}};
  body["next_cursor"] =
      page.next_cursor.empty() ? json::value(nullptr) : json::value(page.next_cursor);
  co_return Response::json(json::serialize(body) + "\n");
}

Task<Response> RunRecordRoutes::get_run(Request& request, ResponseWriter&) {
  const auto who = deps_.authenticator.principal_of(request);
  if (!who) co_return *deps_.authenticator.refuse(request, routing::Access::kKey);
  CO_TRY(const std::string project, routing::project_of(*who, request));
  auto id = store::RunId::parse(request.param("id"));
  // A malformed id is treated as one that does not exist.
  if (!id) co_return Response::refuse(404, "not_found", "there is no such run");
  const store::Ask<store::RunRecord> ask = [&](store::Callback<store::RunRecord> done) {
    deps_.store.get_run(project, *id, std::move(done));
  };
  CO_TRY(const store::RunRecord run, co_await store::store_call(ask));
  co_return Response::json(whole_run(run));
}

}  // namespace glovebox::api
