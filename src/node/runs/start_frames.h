// Everything that goes into a sandbox before its program runs, one frame at a time: files, the job,
// the start. Each frame is encoded when it is sent, so that a large file is not in memory twice.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "node/runs/run_job.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::node {

enum class StartMode {
  kProgram,      // RunJob::exec
  kWarmRuntime,  // RunJob::job for the runtime that waits
  kColdRuntime,  // RunJob::job for a runtime that is started for it
};

class StartFrames {
 public:
  // Refuses what the protocol has no room for. `job` outlives this object.
  static Result<StartFrames> make(const RunJob& job, StartMode way, RuntimeKind runtime);

  // Empty: that was all.
  std::optional<std::vector<std::byte>> next();

 private:
  StartFrames(const RunJob& job, StartMode way, ExecSpec exec, std::string code)
      : job_(&job), mode_(way), exec_(std::move(exec)), code_(std::move(code)) {}

  enum class Step { kFile, kChunks, kJob, kStart, kDone };
  const RunJob* job_;
  StartMode mode_;
  ExecSpec exec_;
  std::string code_;  // the encoded job
  Step step_ = Step::kFile;
  std::size_t file_ = 0;
  std::size_t at_ = 0;
};

}  // namespace glovebox::node
