// The processes that E2B's clients have started or follow: each is looked after until it has ended,
// whether anybody follows it or not. Its time may be over before that, and then it is killed. How
// it ended is remembered for a while, for those who come late.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "routing/app.h"
#include "dialects/e2b/envd/process_followers.h"
#include "dialects/e2b/envd/process_json.h"
#include "sessions/processes/process_label.h"

namespace glovebox::e2b {

class ProcessRegistry : public std::enable_shared_from_this<ProcessRegistry> {
 public:
  static constexpr std::chrono::seconds kRemembered{30};
  using Deadline = std::chrono::steady_clock::time_point;

  explicit ProcessRegistry(routing::App& app) : app_(app) {}
  static ProcessRegistry& of(routing::App& app);
  // At the server's start: what the server before us has started with a deadline or a tag still
  // has it.
  static void begin(routing::App& app);

  // Of one that was just started, for whoever started it.
  std::shared_ptr<Follower> follow(const std::shared_ptr<node::Session>& session,
                                   node::Session::Started started);
  // Of a program that runs; from now on it is looked after. It is killed when its label says so.
  std::shared_ptr<ProcessFollowers> hub(const std::shared_ptr<node::Session>& session,
                                  const node::ProcessInfo& process);
  // The program that is meant and runs, if there is one. Contexts are not E2B's processes; only
  // E2B's have tags.
  std::optional<node::ProcessInfo> find_running(const node::Session& session,
                                                const Selector& selector) const;
  // It was killed: see ProcessFollowers::hurry().
  void hurry(const node::Session& session, wire::ProcessNumber number);

  // Of one that has ended not long ago.
  struct Ended {
    std::uint32_t pid = 0;
    wire::ProcessEnd end;
  };
  std::optional<Ended> find_ended(const node::Session& session, const Selector& selector);

 private:
  using Key = std::pair<SandboxId, wire::ProcessNumber>;
  struct Record {
    SandboxId sandbox;
    std::string tag;
    Ended ended;
    Deadline until;
  };

  asio::awaitable<void> take_over();
  void look_after(const std::shared_ptr<node::Session>& session);
  void begin_watch(const std::shared_ptr<ProcessFollowers>& hub, const sessions::ProcessLabel& label);
  asio::awaitable<void> watch(std::shared_ptr<ProcessFollowers> hub, Deadline deadline);
  asio::awaitable<void> on_exit(std::shared_ptr<ProcessFollowers> hub, wire::ProcessEnd end);
  void remember(const ProcessFollowers& hub, const wire::ProcessEnd& end);

  routing::App& app_;
  std::map<Key, std::shared_ptr<ProcessFollowers>> hubs_;
  std::deque<Record> ended_;  // oldest first
};

}  // namespace glovebox::e2b
