// Start and Connect: the order of events, several followers, deadlines, and ends of all kinds.
#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>

#include "dialects/e2b/envd/process_registry.h"
#include "dialects/e2b/testing/process_fixture.h"
#include "sessions/processes/process_label.h"

namespace glovebox::e2b {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

using ProcessStartTest = ProcessTest;

TEST_F(ProcessStartTest, EventsComeInTheirOrder) {
  session->on_start = [](sessions::FakeProcess& process) {
    process.print("out");
    process.print("err", wire::Stream::kStderr);
    process.exit(3);
    return Result<>();
  };
  const Call& run = call(kStart, R"({"process":{"cmd":"/bin/bash","args":["-l","-c","x"],
                                            "envs":{"A":"1"},"cwd":"sub"},"stdin":false})");
  EXPECT_THAT(run.events(),
              ElementsAre("start", "stdout:out", "stderr:err", "end:exit status 3", "fin"));
  EXPECT_TRUE(run.writer.finished);
  EXPECT_EQ(run.writer.headers.get("Content-Type"), "application/connect+json");
}

TEST_F(ProcessStartTest, AProgramGetsWhatWasAskedFor) {
  http::Headers root{{"Authorization", "Basic cm9vdDo="}};
  begin(kStart, R"({"process":{"cmd":"/bin/bash","args":["-l"],"envs":{"A":"1"},
                           "cwd":"sub"},"tag":"t"})",
        root);
  test.run_until([&] { return !session->all.empty(); });
  const node::ProcessSpec& spec = last()->spec;
  EXPECT_THAT(spec.exec.argv, ElementsAre("/bin/bash", "-l"));
  EXPECT_EQ(spec.exec.workdir, "/root/sub");
  EXPECT_EQ(spec.user, "root");
  EXPECT_TRUE(spec.has_stdin);
  EXPECT_FALSE(spec.lossy);
  EXPECT_THAT(spec.exec.env, Contains("A=1"));
  EXPECT_THAT(spec.exec.env, Contains("HOME=/root"));
  EXPECT_THAT(spec.exec.env, Contains("E2B_SANDBOX=true"));
  EXPECT_THAT(spec.exec.env, Contains("E2B_SANDBOX_ID=" + session->id().str()));
  EXPECT_EQ(sessions::decode_label(spec.label).tag, "t");
  // A user whom only the guest knows has a home that only the guest knows.
  http::Headers eve{{"Authorization", "Basic ZXZlOg=="}};
  begin(kStart, kSleep, eve);
  test.run_until([&] { return session->all.size() == 2; });
  EXPECT_EQ(last()->spec.exec.workdir, "");
  EXPECT_THAT(last()->spec.exec.env, Not(Contains(StartsWith("HOME="))));
}

TEST_F(ProcessStartTest, ATerminalsOutputIsItsOwnKind) {
  Call& run = begin(kStart, R"({"process":{"cmd":"bash"},"pty":{"size":{"cols":90}}})");
  wait_for(run, 1);
  EXPECT_EQ(last()->spec.exec.terminal->columns, 90);
  last()->print("$ ");
  last()->exit(0, SIGTERM);
  finish(run);
  EXPECT_THAT(run.events(), ElementsAre("start", "pty:$ ", "end:signal: terminated", "fin"));
}

TEST_F(ProcessStartTest, RefusalsComeInsideTheStream) {
  const auto refused = [this](Error error) {
    session->on_start = [error](sessions::FakeProcess&) { return Result<>(fail(Error(error))); };
    const Call& run = call(kStart, R"({"process":{"cmd":"x","cwd":"/nowhere"}})");
    EXPECT_TRUE(run.writer.finished);
    return run.writer.body.substr(5);
  };
  EXPECT_EQ(refused({Errc::kNotFound, "enter working directory: No such file", ENOENT}),
            R"({"error":{"code":"invalid_argument","message":"cwd '/nowhere' does not exist"}})");
  EXPECT_THAT(refused({Errc::kNotFound, "execute: No such file", ENOENT}),
              HasSubstr("invalid_argument"));
  EXPECT_THAT(refused({Errc::kInvalidArgument, "no such user", EINVAL}),
              HasSubstr("unauthenticated"));
  EXPECT_THAT(call(kStart, "{}").events(), ElementsAre("error:invalid_argument"));
  EXPECT_THAT(call(kStart, "no JSON").events(), ElementsAre("error:invalid_argument"));
  EXPECT_THAT(call(kConnect, R"({"process":{"pid":7}})").events(), ElementsAre("error:not_found"));
}

TEST_F(ProcessStartTest, InvalidTokensAndEndedSandboxesAreRefusedOutsideTheStream) {
  http::Headers wrong{{"X-Access-Token", "ea_0"}};
  const Call& anonymous = call(kStart, kSleep, wrong);
  EXPECT_FALSE(anonymous.writer.begun());
  EXPECT_EQ((*anonymous.result)->status, 401);
  test.sessions.known.clear();
  EXPECT_EQ((*call(kStart, kSleep).result)->status, 502);
  EXPECT_TRUE(session->all.empty());
}

TEST_F(ProcessStartTest, AClientThatLeavesKillsNothingAndAnotherGetsNewOutput) {
  Call& run = begin(kStart, kSleep);
  wait_for(run, 1);
  const auto process = last();
  process->print("one");
  wait_for(run, 2);
  EXPECT_FALSE(process->spec.lossy);
  run.connection.leave();
  finish(run);
  test.run_until([&] { return !process->info.attached; });
  EXPECT_TRUE(process->signals.empty());
  EXPECT_TRUE(process->spec.lossy);
  process->print("two");
  settle();

  Call& first = begin(kConnect, select(process->info.pid));
  wait_for(first, 1);
  test.run_until([&] { return process->info.attached; });
  EXPECT_FALSE(process->spec.lossy);
  Call& second = begin(kConnect, select(process->info.pid));
  wait_for(second, 1);
  settle();
  process->print("three");
  process->exit(0);
  finish(first);
  finish(second);
  const auto expected = ElementsAre("start", "stdout:three", "end:exit status 0", "fin");
  EXPECT_THAT(first.events(), expected);
  EXPECT_THAT(second.events(), expected);
}

TEST_F(ProcessStartTest, OneOfTwoMayLeave) {
  Call& run = begin(kStart, kSleep);
  wait_for(run, 1);
  Call& other = begin(kConnect, select(last()->info.pid));
  wait_for(other, 1);
  run.connection.leave();
  finish(run);
  settle();
  EXPECT_TRUE(last()->info.attached);
  last()->print("still");
  wait_for(other, 2);
  EXPECT_THAT(other.events(), ElementsAre("start", "stdout:still"));
}

TEST_F(ProcessStartTest, AnEndIsRememberedForAWhile) {
  session->on_start = [](sessions::FakeProcess& process) {
    process.exit(4);
    return Result<>();
  };
  call(kStart, R"({"process":{"cmd":"x"},"tag":"t"})");
  test.run_until([&] { return !session->forgotten.empty(); });
  EXPECT_TRUE(session->all.empty());
  for (const char* which : {R"({"process":{"pid":101}})", R"({"process":{"tag":"t"}})"}) {
    EXPECT_THAT(call(kConnect, which).events(), ElementsAre("start", "end:exit status 4", "fin"));
  }
  EXPECT_THAT(call(kConnect, select(99)).events(), ElementsAre("error:not_found"));
  EXPECT_THAT(test.sessions.notes, ElementsAre("started: x", "exit: status 4"));
}

TEST_F(ProcessStartTest, AProcessOfAnotherApiIsFollowedAndNotForgotten) {
  const std::string key = test.make_key("default", store::KeyRole::kUser);
  test.send(http::Method::kPost, "/v1/sandboxes/" + session->id().str() + "/exec", key,
            R"({"cmd":"x","background":true})");
  Call& other = begin(kConnect, select(last()->info.pid));
  wait_for(other, 1);
  test.run_until([&] { return last()->info.attached; });
  last()->exit(0);
  finish(other);
  settle();
  EXPECT_EQ(session->all.size(), 1u);
}

TEST_F(ProcessStartTest, SilenceIsFilledWithKeepalives) {
  http::Headers headers{{"Keepalive-Ping-Interval", "1"}};
  Call& run = begin(kStart, kSleep, headers);
  wait_for(run, 2);
  EXPECT_THAT(run.events(), ElementsAre("start", "keepalive"));
}

TEST_F(ProcessStartTest, TheDeadlineKillsWithAndWithoutFollowers) {
  http::Headers soon{{"Connect-Timeout-Ms", "60"}};
  Call& left = begin(kStart, kSleep, soon);
  wait_for(left, 1);
  const auto alone = last();
  left.connection.leave();
  finish(left);
  EXPECT_TRUE(alone->signals.empty());
  test.run_until([&] { return !alone->signals.empty(); });
  EXPECT_THAT(alone->signals, ElementsAre(SIGKILL));

  Call& stayed = begin(kStart, kSleep, soon);
  wait_for(stayed, 1);
  const auto watched = last();
  Call& other = begin(kConnect, select(watched->info.pid));
  finish(stayed);
  finish(other);
  EXPECT_THAT(watched->signals, ElementsAre(SIGKILL));
  EXPECT_THAT(stayed.events(), ElementsAre("start", "error:deadline_exceeded"));
  EXPECT_THAT(other.events(), ElementsAre("start", "end:signal: killed", "fin"));
}

TEST_F(ProcessStartTest, AProcessThatPrintsForeverHasADeadlineToo) {
  http::Headers soon{{"Connect-Timeout-Ms", "60"}};
  Call& run = begin(kStart, kSleep, soon);
  wait_for(run, 1);
  const auto process = last();
  test.run_until([&] {
    if (!process->info.ended) process->print("y\n");
    return run.is_done();
  });
  EXPECT_EQ(run.events().back(), "error:deadline_exceeded");
}

TEST_F(ProcessStartTest, ADeadlineOfConnectEndsOnlyTheStream) {
  begin(kStart, kSleep);
  test.run_until([&] { return !session->all.empty(); });
  http::Headers soon{{"Connect-Timeout-Ms", "30"}};
  const Call& other = call(kConnect, select(last()->info.pid), soon);
  EXPECT_THAT(other.events(), ElementsAre("start", "error:deadline_exceeded"));
  EXPECT_TRUE(last()->signals.empty());
}

TEST_F(ProcessStartTest, DeadlinesOutliveTheServerThatSetThem) {
  node::ProcessSpec spec;
  sessions::ProcessLabel label;
  label.cmd = "sleep";
  label.deadline_ms = 1;  // long ago
  spec.label = sessions::encode_label(label);
  asio::co_spawn(test.io, session->start(spec, node::Session::Attach::kNo), asio::detached);
  test.run_until([&] { return !session->all.empty(); });
  const auto process = last();
  test.session_service.alive[session->id()] = session;
  test.api->e2b.start();
  test.run_until([&] { return !process->signals.empty(); });
  EXPECT_THAT(process->signals, ElementsAre(SIGKILL));
}

TEST_F(ProcessStartTest, WithItsSandboxTheStreamIsCut) {
  Call& run = begin(kStart, kSleep);
  wait_for(run, 1);
  session->is_alive = false;
  session->wake();
  finish(run);
  EXPECT_FALSE(run.result->has_value());
  EXPECT_FALSE(run.writer.finished);
  EXPECT_THAT(run.events(), ElementsAre("start"));
}

TEST_F(ProcessStartTest, ASlowFollowerSlowsTheProcessAndCostsLittle) {
  Call& run = begin(kStart, kSleep);
  wait_for(run, 1);
  Call& other = begin(kConnect, select(last()->info.pid));
  wait_for(other, 1);
  const auto process = last();
  run.writer.is_open = false;
  constexpr std::size_t kChunk = 32 * 1024;
  constexpr std::size_t kMany = 64;
  for (std::size_t i = 0; i < kMany; ++i) process->print(std::string(kChunk, 'x'));
  process->exit(0);
  settle();
  const std::size_t read = kMany + 1 - process->events.size();
  EXPECT_LE(read * kChunk, 2 * ProcessFollowers::kMaxHeld);
  EXPECT_GE(read, 2u);
  run.writer.is_open = true;
  run.writer.opened.notify_all();
  finish(run);
  finish(other);
  EXPECT_EQ(run.events().size(), kMany + 3);
  EXPECT_EQ(other.events().size(), kMany + 3);
}

// Two who follow, one of whom takes nothing, and much to read.
class StuckFollowerTest : public ProcessTest {
 protected:
  static constexpr std::size_t kMany = 32;
  void SetUp() override {
    ProcessTest::SetUp();
    stuck = &begin(kStart, kSleep);
    wait_for(*stuck, 1);
    other = &begin(kConnect, select(last()->info.pid));
    wait_for(*other, 1);
    stuck->writer.is_open = false;
    for (std::size_t i = 0; i < kMany; ++i) last()->print(std::string(32 * 1024, 'x'));
    settle();
    EXPECT_FALSE(last()->events.empty());
  }
  void TearDown() override {
    stuck->writer.is_open = true;
    stuck->writer.opened.notify_all();
    finish(*stuck);
  }
  Call* stuck = nullptr;
  Call* other = nullptr;
};

TEST_F(StuckFollowerTest, AKillWaitsForNobody) {
  EXPECT_EQ(code_of(kSendSignal, select(last()->info.pid, R"(,"signal":9)")), "ok");
  finish(*other);
  EXPECT_EQ(other->events().size(), kMany + 3);
  EXPECT_EQ(other->events()[kMany + 1], "end:signal: killed");
  EXPECT_FALSE(stuck->is_done());
  stuck->writer.is_open = true;
  stuck->writer.opened.notify_all();
  finish(*stuck);
  EXPECT_EQ(stuck->events().back(), "error:resource_exhausted");
}

TEST_F(StuckFollowerTest, TheEndOfTheSandboxWaitsForNobody) {
  session->is_alive = false;
  session->wake();
  finish(*other);
  EXPECT_FALSE(other->result->has_value());
}

TEST_F(StuckFollowerTest, TheOthersWaitOnlySoLong) {
  test.run_until([&] { return other->events().size() == kMany + 1; });
  EXPECT_FALSE(stuck->is_done());
}

TEST_F(ProcessStartTest, AStuckFollowerThatLeavesHoldsUpNobody) {
  Call& run = begin(kStart, kSleep);
  wait_for(run, 1);
  Call& other = begin(kConnect, select(last()->info.pid));
  wait_for(other, 1);
  run.writer.is_open = false;
  for (int i = 0; i < 32; ++i) last()->print(std::string(32 * 1024, 'x'));
  last()->exit(0);
  settle();
  EXPECT_FALSE(other.is_done());
  run.connection.leave();
  finish(other);
  EXPECT_EQ(other.events().size(), 35u);
  run.writer.is_open = true;
  run.writer.opened.notify_all();
  finish(run);
}

TEST_F(ProcessStartTest, NotTooManyFollow) {
  begin(kStart, kSleep);
  test.run_until([&] { return !session->all.empty(); });
  settle();
  for (std::size_t i = 1; i < ProcessFollowers::kMaxFollowers; ++i) {
    begin(kConnect, select(last()->info.pid));
  }
  settle();
  EXPECT_THAT(call(kConnect, select(last()->info.pid)).events(),
              ElementsAre("error:resource_exhausted"));
}

}  // namespace
}  // namespace glovebox::e2b
