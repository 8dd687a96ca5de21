// What the agent has to say to the server and the socket has not taken yet. Nobody may read at the
// other end for as long as a server is being replaced, so it never waits for the socket.
#pragma once

#include <deque>
#include <vector>

#include "base/unique_fd.h"
#include "wire/session_frames.h"

namespace glovebox::agent {

class Outbox {
 public:
  explicit Outbox(int link) : link_(link) {}
  // A descriptor goes along, if there is one.
  void say(const wire::SessionFrame& frame, UniqueFd fd = UniqueFd());
  enum class Sent { kAll, kSocketIsFull, kNobodyIsThere };
  Sent send();
  void discard() { waiting_.clear(); }
  // Then nothing more should be asked of us.
  bool is_long() const { return waiting_.size() > kLong; }

 private:
  static constexpr std::size_t kLong = 256;
  struct Message {
    std::vector<std::byte> bytes;
    UniqueFd fd;
  };
  int link_;
  std::deque<Message> waiting_;
};

}  // namespace glovebox::agent
