// A sandbox's own socket, without waiting: frames out as far as it takes them, frames in as they
// are there. The other side is treated as hostile; what cannot be parsed ends the link.
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

  // Borrowed from the sandbox.
  explicit SandboxLink(WatchedFd& socket) : socket_(socket) {}

  void begin(StartFrames frames) { frames_ = std::move(frames); }
  void queue(const wire::ClientFrame& frame) { next_ = wire::encode(frame); }
  // Sends until all is sent or the socket is full; then it wakes when there is room. An error means
  // that the other side is gone: what it said last can still be received.
  Result<> send_some();
  bool all_sent() const { return !next_ && !frames_; }

  // Nothing there: it wakes when there is something.
  Result<std::optional<Incoming>> receive();

 private:
  WatchedFd& socket_;
  std::optional<StartFrames> frames_;
  std::optional<std::vector<std::byte>> next_;  // encoded, not yet taken by the socket
};

}  // namespace glovebox::node
