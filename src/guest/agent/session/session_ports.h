// Connections from outside to servers in the sandbox: opened here, in the sandbox's network, and
// passed to Glovebox's server, or relayed (FramedStreams). First to 127.0.0.1, then to ::1.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "guest/agent/session/framed_streams.h"
#include "guest/agent/session/session_files.h"
#include "guest/agent/session/session_outbox.h"
#include "guest/agent/watched_fd.h"

namespace glovebox::agent {

class SessionPorts {
 public:
  SessionPorts(int epoll, std::uint64_t key, Outbox& outbox, FramedStreams& streams)
      : epoll_(epoll), key_(key), outbox_(outbox), streams_(streams) {}
  void connect(const wire::ConnectPort& connect);
  void on_event(std::uint64_t number);
  void drop_all() { pending_.clear(); }
  std::optional<AgentClock::time_point> next_deadline() const;
  void on_time(AgentClock::time_point now);

 private:
  struct Pending {
    wire::ConnectPort asked;
    bool last_try = false;
    WatchedFd socket;
    AgentClock::time_point deadline;
  };
  void begin(const wire::ConnectPort& asked, bool last_try);
  void conclude(std::uint64_t number, int error);

  int epoll_;
  std::uint64_t key_;
  Outbox& outbox_;
  FramedStreams& streams_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Pending> pending_;
};

}  // namespace glovebox::agent
