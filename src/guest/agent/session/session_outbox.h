// The agent's messages to the server that the socket has not taken yet. While a server is replaced
// no process reads the other end, so the agent never blocks on the socket.
#pragma once

#include <deque>
#include <vector>

#include "base/frame_link.h"
#include "base/unique_fd.h"
#include "wire/guest/session_frames.h"

namespace glovebox::agent {

class Outbox {
 public:
  explicit Outbox(FrameLink& link) : link_(link) {}
  // With a descriptor, if there is one.
  void queue(const wire::SessionFrame& frame, UniqueFd fd = UniqueFd());
  enum class Sent { kAll, kSocketIsFull, kClosed };
  Sent send();
  void discard() { waiting_.clear(); }
  // If so, no more requests should be read.
  bool is_long() const { return waiting_.size() > kLong; }

 private:
  static constexpr std::size_t kLong = 256;
  struct Message {
    std::vector<std::byte> bytes;
    UniqueFd fd;
  };
  FrameLink& link_;
  std::deque<Message> waiting_;
};

}  // namespace glovebox::agent
