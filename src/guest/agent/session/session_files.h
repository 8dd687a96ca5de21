// The file requests of a session: starts a helper process for each, as the requested user, and
// relays its messages. See files/file_helper.h for what a helper does.
#pragma once

#include <chrono>
#include <map>
#include <optional>

#include "guest/agent/session/framed_streams.h"
#include "guest/agent/session/session_outbox.h"
#include "guest/agent/session/session_plan.h"
#include "guest/agent/session/session_user.h"
#include "guest/agent/watched_fd.h"
#include "wire/guest/session_frames.h"

namespace glovebox::agent {

using AgentClock = std::chrono::steady_clock;

class SessionFiles {
 public:
  // `key` is what the events of its descriptors begin with; the helper's own number is added.
  SessionFiles(const SessionPlan& plan, int epoll, std::uint64_t key, int null, Outbox& outbox,
               FramedStreams& streams)
      : plan_(plan), epoll_(epoll), key_(key), null_(null), outbox_(outbox), streams_(streams) {}

  void start(const wire::FileRequest& request);
  void commit(wire::RequestNumber request);
  // An abandoned helper gets a moment to clean up.
  void abandon(wire::RequestNumber request);
  void abandon_all();
  void on_event(std::uint64_t helper);
  void reaped(pid_t pid);
  std::optional<AgentClock::time_point> next_deadline() const;
  void on_time(AgentClock::time_point now);

 private:
  struct Helper {
    wire::RequestNumber request = 0;
    pid_t pid = 0;  // zero: it has ended
    WatchedFd status;
    UniqueFd control;
    UniqueFd data;                                    // the server's end, until it is opened
    wire::FileData way = wire::FileData::kNone;       // of its bytes
    std::optional<AgentClock::time_point> killed_at;  // it is abandoned
  };
  void open(Helper& helper, const wire::FileOpened& opened);
  void send_done(wire::RequestNumber request, int error, std::string message);
  Helper* find(wire::RequestNumber request);
  void abandon(Helper& helper);
  void end(std::uint64_t number);

  const SessionPlan& plan_;
  int epoll_;
  std::uint64_t key_;
  int null_;
  Outbox& outbox_;
  FramedStreams& streams_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Helper> helpers_;
};

}  // namespace glovebox::agent
