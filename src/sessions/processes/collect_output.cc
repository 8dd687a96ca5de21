#include "sessions/processes/collect_output.h"

#include <algorithm>
#include <csignal>
#include <string_view>

namespace glovebox::sessions {
namespace {

using Clock = std::chrono::steady_clock;
using node::Attachment;

// The kernel may keep a killed process from ending; the answer waits for it only this long.
constexpr std::chrono::seconds kExecDeadWithin{10};

}  // namespace

Task<CollectedOutput> collect_output(std::unique_ptr<Attachment> attachment,
                                     std::shared_ptr<node::Session> session, node::RunSink& sink,
                                     Clock::time_point deadline, std::uint64_t limit) {
  CollectedOutput all;
  while (true) {
    const Attachment::Event event = co_await attachment->next(deadline);
    if (const auto* chunk = std::get_if<Attachment::Chunk>(&event)) {
      const std::uint64_t room = limit - std::min(limit, all.outcome.output_bytes);
      all.outcome.output_bytes += chunk->bytes.size();
      std::string_view bytes = chunk->bytes;
      if (bytes.size() > room) {
        all.outcome.truncated = true;
        bytes = bytes.substr(0, static_cast<std::size_t>(room));
      }
      co_await sink.on_output(chunk->stream == wire::Stream::kStderr, bytes);
    } else if (std::holds_alternative<Attachment::Lost>(event)) {
      all.outcome.truncated = true;
    } else if (const auto* exited = std::get_if<Attachment::Exited>(&event)) {
      all.end = exited->end;
      co_return all;
    } else if (const auto* gone = std::get_if<Attachment::Gone>(&event)) {
      co_return fail(session->alive() ? Errc::kConflict : Errc::kUnavailable, gone->why);
    }
    // Checked after every event: a process that prints without end would otherwise never time out.
    if (Clock::now() < deadline) continue;
    if (all.outcome.timed_out) {
      co_return fail(Errc::kTimeout, "the process did not end after it was killed");
    }
    all.outcome.timed_out = true;
    (void)session->signal(attachment->process(), SIGKILL, true);
    deadline = Clock::now() + kExecDeadWithin;
  }
}

}  // namespace glovebox::sessions
