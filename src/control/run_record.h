// What is told and kept of a run when it is over: the record, the figures, the events.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "control/app.h"
#include "control/run_plan.h"
#include "store/key.h"
#include "store/run_record.h"
#include "wire/run_answer.h"

namespace glovebox::control {

// What is known of a run before it starts.
struct RunHeader {
  store::RunId id = store::RunId::make();
  std::string request_id;
  std::string project;
  std::string key_id;
  std::string template_name;
  std::string language;
  std::string profile_hash;
  std::int64_t started_ms = 0;
  std::chrono::steady_clock::time_point began;
  std::optional<wire::PreparedSet> packages{};  // it was run with
};

store::RunStatus status_of(const node::RunReport& report);

void tell_started(App& app, const RunHeader& run);
// `exit_json` is the answer without its output.
void tell_finished(App& app, const RunHeader& run, const node::RunReport& report, std::string out,
                   std::string err, std::string exit_json);
// It has no outcome: refused after it was admitted, or the launcher went away.
void tell_failed(App& app, const RunHeader& run, std::string code, std::string message);

}  // namespace glovebox::control
