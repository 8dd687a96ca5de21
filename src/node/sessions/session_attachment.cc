// A process's output for its one reader: as fast as it is asked for.
#include <utility>

#include "node/sessions/session.h"

namespace glovebox::node {
namespace {

class ProcessAttachment final : public Attachment {
 public:
  ProcessAttachment(std::shared_ptr<LiveSession> session, std::shared_ptr<Process> process,
                    std::shared_ptr<Reader> reader)
      : session_(std::move(session)), process_(std::move(process)), reader_(std::move(reader)) {}
  ~ProcessAttachment() override { close(); }

  wire::ProcessNumber process() const override { return process_->info.number; }

  boost::asio::awaitable<Event> next(Clock::time_point deadline) override {
    // Whoever asks may let go of us meanwhile.
    const std::shared_ptr<LiveSession> session = session_;
    const std::shared_ptr<Reader> reader = reader_;
    while (true) {
      if (reader->closed) co_return Gone{"it was closed"};
      // What has arrived is given also when no more can come, unless another has it now.
      if (reader->taken_over) co_return Gone{*reader->gone};
      std::optional<Event> event = reader->inbox.next();
      session->acknowledge(reader->inbox.acknowledge(!event.has_value()));
      if (event) co_return std::move(*event);
      if (reader->inbox.told_end()) co_return Gone{"the process has ended"};
      if (reader->gone) co_return Gone{*reader->gone};
      if (Clock::now() >= deadline) co_return Nothing{};
      co_await reader->bell.wait(deadline);
    }
  }

  void close() override {
    if (std::exchange(reader_->closed, true)) return;
    session_->detach(process_, reader_);
    reader_->bell.ring();
  }

 private:
  std::shared_ptr<LiveSession> session_;
  std::shared_ptr<Process> process_;
  std::shared_ptr<Reader> reader_;
};

}  // namespace

std::unique_ptr<Attachment> make_attachment(std::shared_ptr<LiveSession> session,
                                            std::shared_ptr<Process> process,
                                            std::shared_ptr<Reader> reader) {
  return std::make_unique<ProcessAttachment>(std::move(session), std::move(process),
                                             std::move(reader));
}

}  // namespace glovebox::node
