// The processes that E2B's clients have started or follow. Each is supervised until it has ended,
// whether a client follows it or not, and killed at its deadline. How it ended is remembered for a
// while, for clients that connect late.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dialects/e2b/envd/process_followers.h"
#include "dialects/e2b/envd/process_json.h"
#include "node/sessions/session_service.h"
#include "sessions/processes/oom_kill_counter.h"
#include "sessions/processes/process_label.h"
#include "sessions/sessions.h"

namespace glovebox::e2b {

class ProcessRegistry : public std::enable_shared_from_this<ProcessRegistry> {
 public:
  static constexpr std::chrono::seconds kRemembered{30};
  using Deadline = std::chrono::steady_clock::time_point;

  // All are borrowed and outlive this.
  struct Dependencies {
    asio::io_context& io;
    node::SessionService& session_service;
    sessions::Sessions& sessions;
    sessions::OomKillCounter& oom_kills;
  };
  explicit ProcessRegistry(Dependencies dependencies) : deps_(dependencies) {}

  // At the server's start: supervises the processes with a deadline or a tag that the server before
  // this one has started.
  void start();

  // Of a process that was just started, for the client that started it; null: see
  // ProcessFollowers::follow().
  std::shared_ptr<Follower> follow(const std::shared_ptr<node::Session>& session,
                                   node::Session::Started started);
  // Of a running program, which is supervised from now on and killed at the deadline of its label.
  std::shared_ptr<ProcessFollowers> followers_of(const std::shared_ptr<node::Session>& session,
                                                 const node::ProcessInfo& process);
  // The running program that is selected; nothing: there is none. Contexts are not processes of
  // E2B, and only E2B's processes have tags.
  std::optional<node::ProcessInfo> find_running(const node::Session& session,
                                                const ProcessSelector& selector) const;
  // The process was killed: see ProcessFollowers::drop_slow_followers().
  void drop_slow_followers(const node::Session& session, wire::ProcessNumber number);

  // A process that has ended not long ago.
  struct Ended {
    std::uint32_t pid = 0;
    wire::ProcessEnd end;
  };
  std::optional<Ended> find_ended(const node::Session& session, const ProcessSelector& selector);

 private:
  using Key = std::pair<SandboxId, wire::ProcessNumber>;
  struct Record {
    SandboxId sandbox;
    std::string tag;
    Ended ended;
    Deadline until;
  };

  asio::awaitable<void> take_over();
  void supervise_all(const std::shared_ptr<node::Session>& session);
  void start_supervision(const std::shared_ptr<ProcessFollowers>& process,
                         const sessions::ProcessLabel& label);
  asio::awaitable<void> supervise(std::shared_ptr<ProcessFollowers> process, Deadline deadline);
  asio::awaitable<void> on_exit(std::shared_ptr<ProcessFollowers> process, wire::ProcessEnd end);
  void remember(const ProcessFollowers& process, const wire::ProcessEnd& end);

  const Dependencies deps_;
  std::map<Key, std::shared_ptr<ProcessFollowers>> processes_;
  std::deque<Record> ended_;  // oldest first
};

}  // namespace glovebox::e2b
