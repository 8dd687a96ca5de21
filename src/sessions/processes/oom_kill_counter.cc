#include "sessions/processes/oom_kill_counter.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

namespace glovebox::sessions {

asio::awaitable<OomKillCounter::Mark> OomKillCounter::mark(SandboxId id) {
  auto mark = std::make_shared<std::optional<std::uint32_t>>();
  const auto executor = co_await asio::this_coro::executor;
  asio::co_spawn(executor, ask(std::move(id), mark), asio::detached);
  co_return mark;
}

asio::awaitable<void> OomKillCounter::ask(SandboxId id, Mark mark) {
  const auto usage = co_await service_.measure_session(std::move(id));
  if (usage) *mark = usage->oom_kills;
}

asio::awaitable<bool> OomKillCounter::killed_since(SandboxId id, Mark mark, wire::ProcessEnd end) {
  if (end.oom_killed) co_return true;
  const auto usage = co_await service_.measure_session(std::move(id));
  co_return usage&& mark && mark->has_value() && usage->oom_kills > **mark;
}

void OomKillCounter::began(const SandboxId& id, wire::ProcessNumber process, Mark mark) {
  if (marks_.size() >= kMaxMarks) {
    std::erase_if(marks_, [this](const auto& one) {
      return service_.find_session(one.first.first) == nullptr;
    });
  }
  if (marks_.size() >= kMaxMarks) drop_one_of_the_largest();
  marks_[{id, process}] = std::move(mark);
}

void OomKillCounter::drop_one_of_the_largest() {
  auto largest = marks_.end();
  std::size_t most = 0;
  for (auto first = marks_.begin(); first != marks_.end();) {
    std::size_t count = 0;
    auto next = first;
    for (; next != marks_.end() && next->first.first == first->first.first; ++next) ++count;
    if (count > most) {
      most = count;
      largest = first;
    }
    first = next;
  }
  if (largest != marks_.end()) marks_.erase(largest);
}

asio::awaitable<bool> OomKillCounter::was_killed(SandboxId id, wire::ProcessNumber process,
                                                 wire::ProcessEnd end) {
  Mark mark;
  if (const auto at = marks_.find({id, process}); at != marks_.end()) {
    mark = std::move(at->second);
    marks_.erase(at);
  }
  if (end.oom_killed || !mark) co_return end.oom_killed;
  co_return co_await killed_since(std::move(id), std::move(mark), end);
}

}  // namespace glovebox::sessions
