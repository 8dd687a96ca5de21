// A sandbox's own socket, without blocking: sends frames as far as the socket takes them, receives
// those that are there. The other side is treated as hostile: a malformed frame is an error that
// ends the link. Borrows the socket; one thread.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "node/async/watched_fd.h"
#include "node/runs/start_frames.h"
#include "wire/guest/guest_frames.h"

namespace glovebox::node {

class SandboxLink {
 public:
  struct Incoming {
    wire::AgentFrame frame;
    std::vector<UniqueFd> fds;  // with ProgramStarted only
  };

  // `socket` belongs to the sandbox.
  explicit SandboxLink(WatchedFd& socket) : socket_(socket) {}

  void begin(StartFrames frames) { frames_ = std::move(frames); }
  void queue(const wire::ClientFrame& frame) { next_ = wire::encode(frame); }
  // Sends until all is sent or the socket is full; the socket's signal is set when there is room
  // again. An error: the other side is gone; its last frames can still be received.
  Result<> send_some();
  bool all_sent() const { return !next_ && !frames_; }

  // Nothing: the socket's signal is set when there is something.
  Result<std::optional<Incoming>> receive();

 private:
  WatchedFd& socket_;
  std::optional<StartFrames> frames_;
  std::optional<std::vector<std::byte>> next_;  // encoded, not yet taken by the socket
};

}  // namespace glovebox::node
