#include "sessions/processes/oom_kill_counter.h"

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <csignal>

#include "node/testing/fake_services.h"
#include "sessions/testing/fake_session.h"

namespace glovebox::sessions {
namespace {

class OomKills : public ::testing::Test {
 protected:
  OomKills() { service_.alive[session_->id()] = session_; }

  // A process starts, `meanwhile` happens, it ends.
  bool was_killed(wire::ProcessEnd end, const std::function<void()>& meanwhile) {
    const wire::ProcessNumber number = next_++;
    start(number);
    meanwhile();
    return ask(number, end);
  }
  void start(wire::ProcessNumber number) {
    run([](OomKills& test, wire::ProcessNumber process) -> asio::awaitable<void> {
      OomKillCounter::Mark mark = co_await test.counter_.mark(test.session_->id());
      test.counter_.began(test.session_->id(), process, std::move(mark));
    }(*this, number));
  }
  bool ask(wire::ProcessNumber number, wire::ProcessEnd end) {
    bool killed = false;
    run([](OomKills& test, wire::ProcessNumber process, wire::ProcessEnd how,
           bool& out) -> asio::awaitable<void> {
      out = co_await test.counter_.was_killed(test.session_->id(), process, how);
    }(*this, number, end, killed));
    return killed;
  }
  void run(asio::awaitable<void> what) {
    asio::co_spawn(io_, std::move(what), asio::detached);
    io_.restart();
    io_.run();
  }

  asio::io_context io_;
  node::FakeSessionService service_;
  std::shared_ptr<FakeSession> session_ = std::make_shared<FakeSession>(io_);
  OomKillCounter counter_{service_};
  wire::ProcessNumber next_ = 1;
};

TEST_F(OomKills, AKillDuringTheExecIsReportedWhateverItsExitCode) {
  const auto kill = [this] { ++service_.usage.oom_kills; };
  EXPECT_TRUE(was_killed({.code = 0}, kill));
  EXPECT_TRUE(was_killed({.code = 1}, kill));
  EXPECT_TRUE(was_killed({.signal = SIGKILL}, kill));
}

TEST_F(OomKills, AnEarlierKillIsNotThisExecs) {
  service_.usage.oom_kills = 3;
  EXPECT_FALSE(was_killed({.signal = SIGKILL}, [] {}));
}

TEST_F(OomKills, EveryExecThatRanMeanwhileReportsIt) {
  start(1);
  start(2);
  ++service_.usage.oom_kills;
  EXPECT_TRUE(ask(1, {.code = 0}));
  EXPECT_TRUE(ask(2, {.code = 0}));
}

TEST_F(OomKills, WithoutAMarkTheAgentsReportCounts) {
  ++service_.usage.oom_kills;
  EXPECT_FALSE(ask(99, {.signal = SIGKILL}));
  EXPECT_TRUE(ask(99, {.signal = SIGKILL, .oom_killed = true}));
}

TEST_F(OomKills, ASandboxWithThousandsOfProcessesTakesNoMarkOfAnother) {
  auto greedy = std::make_shared<FakeSession>(io_);
  // The other one is the first in the order of ids.
  while (greedy->id() < session_->id()) greedy = std::make_shared<FakeSession>(io_);
  service_.alive[greedy->id()] = greedy;
  start(1);
  const auto mark = std::make_shared<std::optional<std::uint32_t>>(0);
  for (wire::ProcessNumber process = 1; process <= 5'000; ++process) {
    counter_.began(greedy->id(), process, mark);
  }
  ++service_.usage.oom_kills;
  EXPECT_TRUE(ask(1, {.code = 0}));
}

TEST_F(OomKills, ASandboxThatCannotBeMeasuredIsNoError) {
  EXPECT_FALSE(was_killed({.code = 0}, [this] { service_.alive.clear(); }));
}

}  // namespace
}  // namespace glovebox::sessions
