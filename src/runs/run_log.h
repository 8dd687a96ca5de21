// Publishes and records runs: the events, the metrics, and the record in the store.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "events/event_hub.h"
#include "node/runs/run_job.h"
#include "runs/metrics.h"
#include "store/run_record.h"
#include "store/store.h"
#include "wire/runs/run_answer.h"

namespace glovebox::runs {

// What is known of a run before it starts.
struct RunHeader {
  store::RunId id = store::RunId::make();
  std::string request_id;
  std::string project;
  std::string key_id;
  std::string template_name;
  std::string language;
  std::string profile_hash;
  std::string code{};  // where it is kept
  std::int64_t started_ms = 0;
  std::chrono::steady_clock::time_point began;
  std::optional<wire::PreparedPackageSet> packages{};  // that it ran with
};

class RunLog {
 public:
  // All are borrowed and outlive this.
  RunLog(store::Store& store, events::EventHub& events, Metrics& metrics)
      : store_(store), events_(events), metrics_(metrics) {}

  void started(const RunHeader& run);
  // `exit_json` is the answer without its output.
  void finished(const RunHeader& run, const node::RunReport& report, std::string out,
                std::string err, std::string exit_json);
  // For a run without an outcome: refused after it was admitted, or the launcher was lost.
  void failed(const RunHeader& run, std::string code, std::string message);

 private:
  void publish_finished(const store::RunRecord& record);

  store::Store& store_;
  events::EventHub& events_;
  Metrics& metrics_;
};

store::RunStatus status_of(const node::RunReport& report);

}  // namespace glovebox::runs
