// Output of one process that has arrived for its reader and was not read yet, in the order of its
// arrival. Never more than the window allows, whatever the sandbox sends. No sockets in here.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "node/sessions/session_service.h"

namespace glovebox::node {

inline constexpr wire::Stream kOutputStreams[] = {wire::Stream::kStdout, wire::Stream::kStderr,
                                                  wire::Stream::kResults};

class Inbox {
 public:
  explicit Inbox(wire::ProcessNumber process) : process_(process) {}

  void subscribe(wire::Stream stream, std::uint64_t from, std::uint32_t subscription);
  bool wants(wire::Stream stream, std::uint32_t subscription) const;

  // Output of a subscribed stream. An error: the sandbox broke the protocol.
  Result<> take(wire::Output output);
  void exited(const wire::ProcessEnd& end, const wire::StreamState& out,
              const wire::StreamState& err, const wire::StreamState& results);

  // The next event, if there is one. What the previous call returned counts as read.
  std::optional<Attachment::Event> next();
  bool end_delivered() const { return end_delivered_; }
  // Acknowledgements to send. Small amounts are held back while there is more to read.
  std::vector<wire::Acknowledge> acknowledge(bool waits);

 private:
  struct In {
    bool subscribed = false;
    bool begun = false;  // something has come
    std::uint32_t subscription = 0;
    std::uint64_t expected = 0;            // all before has arrived, or is lost
    std::uint64_t held = 0;                // arrived, and not acknowledged
    std::uint64_t given = 0;               // of these, so many are where they were wanted
    std::uint64_t given_to = 0;            // the offset behind them
    std::optional<wire::StreamState> end;  // where it ends
    std::uint64_t last = 0;                // number of its last event, for appending
  };
  using Item = std::variant<Attachment::Chunk, Attachment::Lost>;

  In& in(wire::Stream stream) { return streams_[static_cast<std::size_t>(stream) - 1]; }
  const In& in(wire::Stream stream) const { return streams_[static_cast<std::size_t>(stream) - 1]; }
  void lose(wire::Stream stream, std::uint64_t up_to);
  void append(wire::Output output);
  void mark_unkept_as_lost();
  bool complete() const;

  wire::ProcessNumber process_;
  std::array<In, 3> streams_;
  std::deque<Item> items_;
  std::uint64_t first_ = 1;  // number of the first of them
  // What the last call gave.
  struct Given {
    wire::Stream stream;
    std::uint64_t end;
    std::uint64_t size;
  };
  std::optional<Given> given_;
  std::optional<wire::ProcessEnd> end_;
  bool end_delivered_ = false;
};

}  // namespace glovebox::node
