// Warm contexts: an interpreter that the template's zygote forks into this sandbox. The agent
// creates its descriptors and asks the launcher; the process that arrives is checked before it is
// used. One at a time.
#pragma once

#include <chrono>
#include <optional>

#include "guest/agent/session/session_files.h"
#include "guest/agent/session/session_start.h"
#include "guest/agent/watched_fd.h"
#include "wire/guest/sandbox_plan.h"

namespace glovebox::agent {

class SessionJoin {
 public:
  SessionJoin(const SessionPlan& plan, int epoll, std::uint64_t key, int null)
      : plan_(plan), epoll_(epoll), key_(key), null_(null) {}

  // The result, for a process of the agent. Without a pid: none arrived, or it was not sealed.
  struct Joined {
    std::uint64_t process = 0;
    std::optional<pid_t> pid;
    StreamEnds ours;
  };

  bool busy() const { return pending_.has_value(); }
  // False: the launcher could not be asked.
  bool begin(std::uint64_t process, const wire::StartProcess& start, const SessionUser& user);
  std::optional<Joined> on_ready();
  std::optional<Joined> on_refused(std::uint32_t ticket);
  std::optional<AgentClock::time_point> next_deadline() const;
  std::optional<Joined> on_time(AgentClock::time_point now);

 private:
  struct Pending {
    std::uint64_t process = 0;
    std::uint32_t ticket = 0;
    StreamEnds ours;
    WatchedFd socket;
    AgentClock::time_point deadline;
  };
  Joined failed();
  void notify_launcher(const wire::PlanMessage& message);

  const SessionPlan& plan_;
  int epoll_;
  std::uint64_t key_;
  int null_;
  std::uint32_t last_ticket_ = 0;
  std::optional<Pending> pending_;
};

}  // namespace glovebox::agent
