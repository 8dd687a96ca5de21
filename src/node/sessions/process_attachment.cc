#include "node/sessions/process_attachment.h"

#include <utility>

namespace glovebox::node {

boost::asio::awaitable<Attachment::Event> ProcessAttachment::next(Clock::time_point deadline) {
  // The caller may destroy this object meanwhile.
  const std::shared_ptr<SessionProcesses> processes = processes_;
  const std::shared_ptr<Reader> reader = reader_;
  while (true) {
    if (reader->closed) co_return Gone{"it was closed"};
    // What has arrived is given although no more can come, unless another reader has it now.
    if (reader->taken_over) co_return Gone{*reader->gone, true};
    std::optional<Event> event = reader->inbox.next();
    processes->acknowledge(reader->inbox.acknowledge(!event.has_value()));
    if (event) co_return std::move(*event);
    if (reader->inbox.end_delivered()) co_return Gone{"the process has ended"};
    if (reader->gone) co_return Gone{*reader->gone};
    if (Clock::now() >= deadline) co_return Nothing{};
    co_await reader->notifier.wait(deadline);
  }
}

void ProcessAttachment::close() {
  if (std::exchange(reader_->closed, true)) return;
  processes_->detach(process_, reader_);
  reader_->notifier.notify_all();
}

}  // namespace glovebox::node
