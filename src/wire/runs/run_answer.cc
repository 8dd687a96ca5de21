#include "wire/runs/run_answer.h"

#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/base64.h"
#include "base/utf8.h"
#include "wire/guest/guest_result.h"
#include "wire/json/json_fields.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

std::string megabytes_or_null(const std::optional<std::uint64_t>& bytes) {
  if (!bytes) return "null";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", static_cast<double>(*bytes) / (1024.0 * 1024.0));
  return text;
}

std::string answer_metrics(const RunAnswer& answer) {
  const Outcome& outcome = answer.outcome;
  return "{\"wall_ms\":" + ms_text(outcome.wall) + ",\"setup_ms\":" + ms_text(outcome.setup) +
         ",\"queue_ms\":" + ms_text(answer.queued) +
         ",\"cpu_ms\":" + (cpu_is_counted(outcome) ? ms_text(outcome.usage.cpu) : "null") +
         ",\"peak_memory_bytes\":" + number_or_null(outcome.usage.peak_memory_bytes) +
         ",\"peak_memory_mb\":" + megabytes_or_null(outcome.usage.peak_memory_bytes) +
         ",\"processes_peak\":" + number_or_null(outcome.usage.processes_peak) +
         ",\"output_bytes\":" + std::to_string(outcome.output_bytes) + ",\"network\":" +
         (answer.network ? json::serialize(network_json(*answer.network)) : "null") + "}";
}

json::object failure(std::string_view code, std::string_view message) {
  return {{"code", code}, {"message", message}};
}

// What the walls did comes before what the code says of itself.
json::value answer_error(const RunAnswer& answer, json::object exception) {
  const Outcome& outcome = answer.outcome;
  if (answer.cancelled) return failure("cancelled", "the run was cancelled");
  if (outcome.cpu_exceeded) return failure("cpu_exceeded", "the CPU time limit was reached");
  if (outcome.timed_out) return failure("timed_out", "the time limit was reached");
  if (outcome.oom_killed) return failure("oom_killed", "the memory limit was reached");
  if (!exception.empty()) return exception;
  if (outcome.signal != 0) {
    const char* name = ::sigabbrev_np(outcome.signal);
    return failure("killed", "the program was ended by signal " +
                                 (name != nullptr ? "SIG" + std::string(name)
                                                  : std::to_string(outcome.signal)));
  }
  return nullptr;
}

void add_results(json::object& object, const RunAnswer& answer) {
  SortedResults sorted = sort_results(answer.results);
  object["result"] = std::move(sorted.main);
  object["results"] = std::move(sorted.shown);
  object["error"] = answer_error(answer, std::move(sorted.exception));
}

json::array files_of(const RunAnswer& answer) {
  json::array files;
  for (const AnswerFile& file : answer.files) {
    json::object entry{{"path", to_utf8(file.path)}, {"size", file.content.size()}};
    if (is_utf8(file.content)) {
      entry["content"] = file.content;
    } else {
      entry["content_base64"] = base64_encode(file.content);
    }
    files.push_back(std::move(entry));
  }
  return files;
}

// What a whole jail has and this sandbox had not.
json::array missing_walls(EngineKind engine, const WallSet& walls) {
  json::array missing;
  if (engine != EngineKind::kJail) return missing;
  for (unsigned i = 0; i < static_cast<unsigned>(Wall::kCount); ++i) {
    const Wall wall = static_cast<Wall>(i);
    if (wall == Wall::kImportPolicy || wall == Wall::kScrubbedEnvironment) continue;
    // Says what a session can do (features.pause), and keeps no guest away from anything.
    if (wall == Wall::kFreezer) continue;
    // Stand in for others, and are listed with the walls that stood.
    if (wall == Wall::kMemoryPerProcess || wall == Wall::kCpuTimePerProcess ||
        wall == Wall::kRootOwnedCopies) {
      continue;
    }
    // None at all is more than a bound on them.
    if (wall == Wall::kBoundedCapabilities && walls.has(Wall::kNoCapabilities)) continue;
    if (!walls.has(wall)) missing.emplace_back(wall_name(wall));
  }
  return missing;
}

// How many bytes at the end begin a character that is not whole yet.
std::size_t cut_off(std::string_view bytes) {
  for (std::size_t back = 1; back <= 3 && back <= bytes.size(); ++back) {
    const auto byte = static_cast<unsigned char>(bytes[bytes.size() - back]);
    if ((byte & 0xc0u) == 0x80u) continue;  // the middle of a character
    if (byte > 0xf4) return 0;              // never part of one
    const std::size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

json::object isolation_json(EngineKind engine, const WallSet& walls) {
  json::array names;
  for (const std::string_view name : walls.names()) names.emplace_back(name);
  return {{"engine", engine_name(engine)},
          {"grade", grade_name(grade_of(engine, walls))},
          {"walls", std::move(names)},
          {"missing", missing_walls(engine, walls)}};
}

namespace {

void begin_fields(json::object& object, const RunAnswer& answer) {
  const Outcome& outcome = answer.outcome;
  if (!answer.id.empty()) object["id"] = answer.id;
  if (!answer.request_id.empty()) object["request_id"] = answer.request_id;
  object["exit_code"] = outcome.exit_code;
  object["signal"] = outcome.signal == 0 ? json::value(nullptr) : json::value(outcome.signal);
}

std::string finish_fields(json::object object, const RunAnswer& answer) {
  const Outcome& outcome = answer.outcome;
  object["timed_out"] = outcome.timed_out;
  object["oom_killed"] = outcome.oom_killed;
  object["truncated"] = outcome.truncated;
  object["files"] = files_of(answer);
  if (!answer.files_error.empty()) object["files_error"] = to_utf8(answer.files_error);
  object["isolation"] = isolation_json(outcome.engine, outcome.walls);
  if (!answer.profile.empty()) object["profile"] = answer.profile;
  if (!answer.template_name.empty()) object["template"] = answer.template_name;
  object["warm"] = answer.warm;
  if (answer.reused) object["reused"] = *answer.reused;
  if (answer.packages) {
    json::object packages{{"layer", to_utf8(answer.packages->layer)},
                          {"built", answer.packages->built},
                          {"waited_ms", answer.packages->waited.count()}};
    const std::string& why = answer.packages->cold_because;
    if (!why.empty()) packages["cold_because"] = to_utf8(why);
    object["dependencies"] = std::move(packages);
  }
  std::string text = json::serialize(object);
  text.pop_back();
  return text + ",\"metrics\":" + answer_metrics(answer) + "}\n";
}

}  // namespace

std::string run_exit_json(const RunAnswer& answer) {
  json::object object;
  begin_fields(object, answer);
  add_results(object, answer);
  return finish_fields(std::move(object), answer);
}

std::string run_frame_json(const RunAnswer& answer) {
  json::object object;
  begin_fields(object, answer);
  return finish_fields(std::move(object), answer);
}

std::string run_answer_json(std::string_view exit_json, const Outcome& outcome) {
  json::object output;
  add_output(output, "stdout", outcome.out);
  add_output(output, "stderr", outcome.err);
  std::string text = json::serialize(output);
  text.back() = ',';
  text += exit_json.substr(1);
  return text;
}

ResultEvent result_event(std::string_view line) {
  auto result = parse_guest_result(line);
  if (!result) return {};
  if (result->is_error) return {"error", json::serialize(result->content)};
  json::object data{{"mime", std::move(result->content)}, {"main", result->main}};
  return {"result", json::serialize(data)};
}

std::string output_event_json(std::string_view bytes) {
  json::object data;
  if (is_utf8(bytes)) {
    data["text"] = bytes;
  } else {
    data["base64"] = base64_encode(bytes);
  }
  return json::serialize(data);
}

std::string error_json(std::string_view code, std::string_view message,
                       std::string_view request_id) {
  json::object object;
  object["error"] = {{"code", code}, {"message", to_utf8(message)}};
  object["request_id"] = request_id;
  return json::serialize(object) + "\n";
}

std::string_view Utf8Chunker::add(std::string_view piece) {
  std::string_view whole = piece;
  if (!kept_.empty()) {
    joined_ = std::move(kept_);
    joined_ += piece;
    whole = joined_;
  }
  const std::size_t cut = cut_off(whole);
  kept_ = whole.substr(whole.size() - cut);
  whole.remove_suffix(cut);
  return whole;
}

}  // namespace glovebox::wire
