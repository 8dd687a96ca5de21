// A process's output for its one reader, as fast as the reader asks for it.
#pragma once

#include <memory>

#include "node/sessions/session_processes.h"

namespace glovebox::node {

class ProcessAttachment final : public Attachment {
 public:
  ProcessAttachment(std::shared_ptr<SessionProcesses> processes, std::shared_ptr<Process> process,
                    std::shared_ptr<Reader> reader)
      : processes_(std::move(processes)),
        process_(std::move(process)),
        reader_(std::move(reader)) {}
  ~ProcessAttachment() override { close(); }

  wire::ProcessNumber process() const override { return process_->info.number; }
  boost::asio::awaitable<Event> next(Clock::time_point deadline) override;
  void close() override;

 private:
  std::shared_ptr<SessionProcesses> processes_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<Reader> reader_;
};

}  // namespace glovebox::node
