#include "wire/runs/outcome_json.h"

#include <csignal>
#include <cstdio>
#include <cstring>

#include <boost/json.hpp>

#include "base/utf8.h"
#include "model/program_refusal.h"
#include "wire/json/json_fields.h"
#include "wire/runs/run_answer.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;

std::string outcome_metrics(const Outcome& outcome, const std::optional<NetworkFigures>& network) {
  return "{\"wall_ms\":" + ms_text(outcome.wall) + ",\"setup_ms\":" + ms_text(outcome.setup) +
         ",\"cpu_ms\":" + ms_text(outcome.usage.cpu) +
         ",\"peak_memory_bytes\":" + number_or_null(outcome.usage.peak_memory_bytes) +
         ",\"processes_peak\":" + number_or_null(outcome.usage.processes_peak) +
         ",\"output_bytes\":" + std::to_string(outcome.output_bytes) +
         ",\"network\":" + (network ? json::serialize(network_json(*network)) : "null") + "}";
}

json::value outcome_error(const Outcome& outcome) {
  const auto failure = [](std::string_view code, const std::string& message) {
    return json::value{{"code", code}, {"message", message}};
  };
  if (outcome.cpu_exceeded) return failure("cpu_exceeded", "the CPU time limit was reached");
  if (outcome.timed_out) return failure("timed_out", "the time limit was reached");
  if (outcome.oom_killed) return failure("oom_killed", "the memory limit was reached");
  if (outcome.signal != 0) {
    const char* name = ::sigabbrev_np(outcome.signal);
    return failure("killed", std::string("the program was ended by signal ") +
                                 (name != nullptr ? "SIG" + std::string(name)
                                                  : std::to_string(outcome.signal)));
  }
  return nullptr;
}

}  // namespace

std::string outcome_json(const Outcome& outcome, const std::optional<NetworkFigures>& network) {
  json::object object;
  object["exit_code"] = outcome.exit_code;
  add_output(object, "stdout", outcome.out);
  add_output(object, "stderr", outcome.err);
  object["result"] = nullptr;
  object["error"] = outcome_error(outcome);
  object["signal"] = outcome.signal == 0 ? json::value(nullptr) : json::value(outcome.signal);
  object["timed_out"] = outcome.timed_out;
  object["oom_killed"] = outcome.oom_killed;
  object["truncated"] = outcome.truncated;
  object["isolation"] = isolation_json(outcome.engine, outcome.walls);
  std::string text = json::serialize(object);
  text.pop_back();
  return text + ",\"metrics\":" + outcome_metrics(outcome, network) + "}\n";
}

std::string failure_json(const Error& error) {
  const auto refusal = program_refusal_in(error);
  const std::string_view code = refusal ? refusal_code(*refusal) : errc_name(error.code());
  json::object object;
  object["exit_code"] = exit_status_of_refusal(code).value_or(kExitGloveboxFailed);
  object["stdout"] = "";
  object["stderr"] = "";
  object["result"] = nullptr;
  object["error"] = {{"code", code}, {"message", to_utf8(error.message())}};
  object["timed_out"] = false;
  object["oom_killed"] = false;
  object["truncated"] = false;
  object["metrics"] = nullptr;
  object["isolation"] = nullptr;
  return json::serialize(object) + "\n";
}

}  // namespace glovebox::wire
