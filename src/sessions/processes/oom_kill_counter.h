// Decides whether the kernel killed a process of a sandbox for memory while an exec ran: the kernel
// counts such kills per sandbox, and this remembers the count at the beginning of each exec. So
// `oom_killed` of an exec agrees with `oom_kills` of its sandbox, whatever the exec's own exit code
// is and whichever of its processes was killed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "base/id.h"
#include "base/task.h"
#include "node/sessions/session_service.h"

namespace glovebox::sessions {

class OomKillCounter {
 public:
  explicit OomKillCounter(node::SessionService& service) : service_(service) {}

  // The count at some moment; empty until the launcher has answered, or if it cannot.
  using Mark = std::shared_ptr<std::optional<std::uint32_t>>;

  // Asks for the count now, and does not wait for the answer. The launcher answers in order, so it
  // is there before the answer to any later question.
  asio::awaitable<Mark> mark(SandboxId id);
  asio::awaitable<bool> killed_since(SandboxId id, Mark mark, wire::ProcessEnd end);

  // The same for a process that this server started: the mark from before its start is kept until
  // was_killed(). Without one (a process of an earlier server) only the agent's report counts.
  // The number of marks is bounded; beyond it the sandbox that has most of them loses its oldest.
  void began(const SandboxId& id, wire::ProcessNumber process, Mark mark);
  asio::awaitable<bool> was_killed(SandboxId id, wire::ProcessNumber process, wire::ProcessEnd end);

 private:
  static constexpr std::size_t kMaxMarks = 4096;

  void drop_one_of_the_largest();
  asio::awaitable<void> ask(SandboxId id, Mark mark);

  node::SessionService& service_;
  std::map<std::pair<SandboxId, wire::ProcessNumber>, Mark> marks_;
};

}  // namespace glovebox::sessions
