// Copies the files of a run out of its sandbox, after the program has ended and while the sandbox
// still exists. What cannot be copied is named in the report; the outcome stands.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/task.h"
#include "node/runs/run_job.h"
#include "node/sandboxes/sandbox_link.h"

namespace glovebox::node {

class OutputFiles {
 public:
  // Waits for the agent's next frame, or fails when no more will come.
  using NextFrame = std::function<Task<SandboxLink::Incoming>()>;

  // All borrowed for the lifetime of this object.
  OutputFiles(SandboxLink& link, NextFrame next_frame, const RunJob& job, RunReport& report)
      : link_(link), next_frame_(std::move(next_frame)), job_(job), report_(report) {}

  boost::asio::awaitable<void> fetch_all();

 private:
  Task<std::vector<wire::FoundFile>> find();
  // kNotFound: this one cannot be read. Anything else: no more will come.
  Task<> fetch(wire::FoundFile file, std::uint64_t& left);

  SandboxLink& link_;
  NextFrame next_frame_;
  const RunJob& job_;
  RunReport& report_;
};

}  // namespace glovebox::node
