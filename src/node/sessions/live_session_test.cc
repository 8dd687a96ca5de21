// A session's processes: pacing, attachments, input, and agents that break the protocol.
#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

using wire::Stream;

constexpr std::size_t kChunk = wire::kMaxSessionChunk;

TEST_F(SessionTest, AStartedProgramIsReadFromItsFirstByte) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  EXPECT_EQ(started.info.pid, 77u);
  agent(*session).print(started.info.number, Stream::kStdout, 0, "hello");
  EXPECT_EQ(text(*started.attachment), "hello");
  EXPECT_TRUE(session->find_process(started.info.number)->attached);
  EXPECT_EQ(session->find_process(started.info.number)->out.end, 5u);
}

TEST_F(SessionTest, WhatIsNotAskedForIsNotAcknowledged) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  FakeAgent& its_agent = agent(*session);
  for (std::size_t i = 0; i < 4; ++i) {
    its_agent.print(started.info.number, Stream::kStdout, i * kChunk, std::string(kChunk, 'x'));
  }
  settle();
  EXPECT_TRUE(its_agent.all<wire::Acknowledge>().empty());
  EXPECT_EQ(text(*started.attachment).size(), kChunk);
  settle();
  EXPECT_TRUE(its_agent.all<wire::Acknowledge>().empty());
  EXPECT_EQ(text(*started.attachment).size(), kChunk);  // the first has arrived
  until([&] { return !its_agent.all<wire::Acknowledge>().empty(); });
  EXPECT_EQ(its_agent.all<wire::Acknowledge>().back().offset, kChunk);
  // And so there is room for as much again.
  its_agent.print(started.info.number, Stream::kStdout, 4 * kChunk, std::string(kChunk, 'y'));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(text(*started.attachment).size(), kChunk);
  EXPECT_EQ(text(*started.attachment)[0], 'y');
  EXPECT_TRUE(std::holds_alternative<Attachment::Nothing>(next_now(*started.attachment)));
  until([&] { return its_agent.all<wire::Acknowledge>().back().offset == 5 * kChunk; });
}

TEST_F(SessionTest, TheExitComesAfterTheLastByte) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  FakeAgent& its_agent = agent(*session);
  const auto number = started.info.number;
  its_agent.say(wire::ProcessExited{number, {.code = 3}, {0, 4}, {0, 2}, {}});
  its_agent.print(number, Stream::kStdout, 0, "last");
  EXPECT_EQ(text(*started.attachment), "last");
  EXPECT_TRUE(std::holds_alternative<Attachment::Nothing>(next_now(*started.attachment)));
  its_agent.print(number, Stream::kStderr, 0, "er");
  EXPECT_EQ(text(*started.attachment), "er");
  const auto exited = std::get<Attachment::Exited>(next(*started.attachment));
  EXPECT_EQ(exited.end.code, 3);
  EXPECT_TRUE(std::holds_alternative<Attachment::Gone>(next(*started.attachment)));
  const auto waited = await(session->wait_exit(number, Clock::now()));
  EXPECT_EQ(waited.value().code, 3);
}

TEST_F(SessionTest, ANewReaderContinuesWhereItWantsAndOldOutputUnderWayIsNotItsOwn) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  const auto number = started.info.number;
  FakeAgent& its_agent = agent(*session);
  its_agent.print(number, Stream::kStdout, 0, "abcdef");
  EXPECT_EQ(text(*started.attachment), "abcdef");
  started.attachment.reset();
  until([&] { return its_agent.all<wire::Unsubscribe>().size() == 2; });
  // Still under way, of the subscription of the start.
  its_agent.print(number, Stream::kStdout, 6, "gh");
  auto again = await(session->attach(number, {.out = 3})).value();
  until([&] { return its_agent.all<wire::Subscribe>().size() == 2; });
  EXPECT_EQ(its_agent.all<wire::Subscribe>()[0].offset, 3u);
  its_agent.print(number, Stream::kStdout, 3, "defgh");
  EXPECT_EQ(text(*again), "defgh");
}

TEST_F(SessionTest, WhatIsNotKeptAnyMoreIsSaidToBeLost) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  const auto number = started.info.number;
  started.attachment.reset();
  auto again = await(session->attach(number, {})).value();
  until([&] { return agent(*session).all<wire::Subscribe>().size() == 2; });
  agent(*session).print(number, Stream::kStdout, 1000, "rest");
  EXPECT_EQ(std::get<Attachment::Lost>(next(*again)).bytes, 1000u);
  const auto chunk = std::get<Attachment::Chunk>(next(*again));
  EXPECT_EQ(chunk.offset, 1000u);
  EXPECT_EQ(chunk.bytes, "rest");
}

TEST_F(SessionTest, ASecondReaderTakesOverAndTheFirstIsTold) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  auto first = spawn(started.attachment->next());
  settle();
  auto second = await(session->attach(started.info.number, {})).value();
  until([&] { return first->has_value(); });
  EXPECT_THAT(std::get<Attachment::Gone>(**first).why, HasSubstr("took over"));
  until([&] { return agent(*session).all<wire::Subscribe>().size() == 2; });
  agent(*session).print(started.info.number, Stream::kStdout, 0, "mine");
  EXPECT_EQ(text(*second), "mine");
  // The first one's end is not the second one's.
  started.attachment.reset();
  EXPECT_TRUE(session->find_process(started.info.number)->attached);
}

TEST_F(SessionTest, AReaderThatIsClosedStopsWaiting) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  auto waiting = spawn(started.attachment->next());
  settle();
  started.attachment->close();
  until([&] { return waiting->has_value(); });
  EXPECT_TRUE(std::holds_alternative<Attachment::Gone>(**waiting));
}

TEST_F(SessionTest, AProcessWithoutAReaderForTooLongBecomesLossy) {
  options.detach_grace = milliseconds(20);
  begin_base();
  const auto session = make();
  auto started = start(*session);
  settle();
  EXPECT_TRUE(agent(*session).all<wire::SetLossy>().empty());
  started.attachment.reset();
  until([&] { return !agent(*session).all<wire::SetLossy>().empty(); });
  EXPECT_TRUE(agent(*session).all<wire::SetLossy>()[0].lossy);
  auto again = await(session->attach(started.info.number, {})).value();
  until([&] { return agent(*session).all<wire::SetLossy>().size() == 2; });
  EXPECT_FALSE(agent(*session).all<wire::SetLossy>()[1].lossy);
}

TEST_F(SessionTest, InputWaitsForItsWindow) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  const auto number = started.info.number;
  FakeAgent& its_agent = agent(*session);
  const auto sent = [&] {
    std::string bytes;
    for (const wire::Input& one : its_agent.all<wire::Input>()) {
      EXPECT_EQ(one.offset, bytes.size());
      bytes += one.bytes;
    }
    return bytes.size();
  };
  auto writing = spawn(session->write_input(number, Stream::kStdin, std::string(200'000, 'i')));
  until([&] { return sent() == wire::kInputWindow; });
  settle();
  EXPECT_EQ(sent(), wire::kInputWindow);
  its_agent.say(wire::InputTaken{number, Stream::kStdin, 50'000, false});
  until([&] { return sent() == wire::kInputWindow + 50'000; });
  EXPECT_FALSE(writing->has_value());
  its_agent.say(wire::InputTaken{number, Stream::kStdin, wire::kInputWindow + 50'000, false});
  until([&] { return sent() == wire::kInputWindow * 2 + 50'000; });
  its_agent.say(wire::InputTaken{number, Stream::kStdin, wire::kInputWindow * 2 + 50'000, false});
  until([&] { return sent() == 200'000; });
  its_agent.say(wire::InputTaken{number, Stream::kStdin, 200'000, false});
  until([&] { return writing->has_value(); });
  EXPECT_TRUE((*writing)->has_value());
  EXPECT_TRUE(await(session->close_input(number, Stream::kStdin)).has_value());
  until([&] { return its_agent.all<wire::CloseInput>().size() == 1; });
  EXPECT_FALSE(await(session->write_input(number, Stream::kStdin, "more")).has_value());
}

TEST_F(SessionTest, TwoWritersDoNotMix) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  const auto number = started.info.number;
  FakeAgent& its_agent = agent(*session);
  auto first = spawn(session->write_input(number, Stream::kStdin, std::string(70'000, 'a')));
  auto second = spawn(session->write_input(number, Stream::kStdin, std::string(70'000, 'b')));
  std::string bytes;
  std::size_t looked = 0;
  until([&] {
    const auto inputs = its_agent.all<wire::Input>();
    for (; looked < inputs.size(); ++looked) {
      bytes += inputs[looked].bytes;
      its_agent.say(wire::InputTaken{number, Stream::kStdin, bytes.size(), false});
    }
    return first->has_value() && second->has_value();
  });
  EXPECT_EQ(bytes, std::string(70'000, 'a') + std::string(70'000, 'b'));
}

TEST_F(SessionTest, InputThatTheProcessDoesNotReadIsRefused) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  const auto number = started.info.number;
  auto writing = spawn(session->write_input(number, Stream::kStdin, std::string(100'000, 'i')));
  settle();
  agent(*session).say(wire::InputTaken{number, Stream::kStdin, 10, true});
  until([&] { return writing->has_value(); });
  EXPECT_EQ((*writing)->error().code(), Errc::kUnavailable);
}

TEST_F(SessionTest, WhatCannotBeStartedIsAnErrorWithItsErrno) {
  begin_base();
  const auto session = make();
  agent(*session).starts = false;
  auto starting = spawn(session->start(program(), Session::Attach::kYes));
  until([&] { return !agent(*session).all<wire::StartProcess>().empty(); });
  agent(*session).say(wire::StartRefused{1, ENOENT, "exec /bin/cat"});
  until([&] { return starting->has_value(); });
  EXPECT_EQ((*starting)->error().code(), Errc::kNotFound);
  EXPECT_EQ((*starting)->error().sys_errno(), ENOENT);
  EXPECT_TRUE(session->processes().empty());
}

TEST_F(SessionTest, WhatTheAgentWouldNotReadIsRefusedHere) {
  begin_base();
  const auto session = make();
  for (const auto& spoil : std::vector<std::function<void(ProcessSpec&)>>{
           [](ProcessSpec& one) { one.exec.argv.clear(); },
           [](ProcessSpec& one) { one.exec.argv[0] += '\0'; },
           [](ProcessSpec& one) { one.user.clear(); },
           [](ProcessSpec& one) { one.exec.env.assign(40, std::string(10'000, 'e')); }}) {
    ProcessSpec wanted = program();
    spoil(wanted);
    auto started = await(session->start(std::move(wanted), Session::Attach::kNo));
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().code(), Errc::kInvalidArgument);
  }
  settle();
  EXPECT_TRUE(agent(*session).all<wire::StartProcess>().empty());
}

TEST_F(SessionTest, OneThatIsStartedTooLateIsKilledAndForgotten) {
  options.request_wait = milliseconds(20);
  begin_base();
  const auto session = make();
  agent(*session).starts = false;
  auto started = await(session->start(program(), Session::Attach::kNo));
  EXPECT_EQ(started.error().code(), Errc::kTimeout);
  agent(*session).say(wire::ProcessStarted{1, 9, false});
  until([&] { return !agent(*session).all<wire::SignalProcess>().empty(); });
  EXPECT_EQ(agent(*session).all<wire::SignalProcess>()[0].signal, SIGKILL);
  agent(*session).say(wire::ProcessExited{1, {.signal = 9}, {}, {}, {}});
  until([&] { return !agent(*session).all<wire::ForgetProcess>().empty(); });
  EXPECT_TRUE(session->processes().empty());
}

TEST_F(SessionTest, SignalsAndSizesGoToProcessesThatRun) {
  begin_base();
  const auto session = make();
  ProcessSpec shell = program();
  shell.exec.terminal = TerminalSize{24, 80};
  auto started = start(*session, std::move(shell));
  const auto number = started.info.number;
  EXPECT_TRUE(session->signal(number, SIGINT, true).has_value());
  EXPECT_FALSE(session->signal(number, 65, true).has_value());
  EXPECT_EQ(session->signal(99, SIGINT, true).error().code(), Errc::kNotFound);
  EXPECT_TRUE(session->resize(number, {50, 132}).has_value());
  EXPECT_EQ(session->forget(number).error().code(), Errc::kConflict);
  agent(*session).say(wire::ProcessExited{number, {}, {}, {}, {}});
  until([&] { return session->find_process(number)->ended.has_value(); });
  EXPECT_EQ(session->signal(number, SIGINT, true).error().code(), Errc::kConflict);
  EXPECT_TRUE(session->forget(number).has_value());
  EXPECT_FALSE(session->find_process(number).has_value());
  until([&] { return agent(*session).all<wire::ForgetProcess>().size() == 1; });
}

TEST_F(SessionTest, WaitingForAnExitHasADeadline) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  auto waited = await(session->wait_exit(started.info.number, Clock::now() + milliseconds(10)));
  EXPECT_EQ(waited.error().code(), Errc::kTimeout);
}

TEST_F(SessionTest, WhoWaitsIsToldWhenTheSandboxEnds) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  agent(*session).print(started.info.number, Stream::kStdout, 0, "last words");
  settle();
  auto waiting = spawn(session->wait_exit(started.info.number, Clock::time_point::max()));
  settle();
  launcher.end(session->id().str(), EndReason::kAgentKilled);
  until([&] { return waiting->has_value() && !ended.empty(); });
  EXPECT_EQ((*waiting)->error().code(), Errc::kUnavailable);
  EXPECT_EQ(ended[0].reason, EndReason::kAgentKilled);
  EXPECT_EQ(text(*started.attachment), "last words");  // had arrived
  EXPECT_TRUE(std::holds_alternative<Attachment::Gone>(next(*started.attachment)));
  EXPECT_FALSE(await(session->start(program(), Session::Attach::kNo)).has_value());
}

// ---- agents that break the protocol -----------------------------------------------------------

struct Attack {
  std::string name;
  std::function<void(FakeAgent&, wire::ProcessNumber)> go;
};
class HostileAgent : public SessionTest, public testing::WithParamInterface<Attack> {};

TEST_P(HostileAgent, EndsItsSessionAndNothingElse) {
  begin_base();
  const auto other = make();
  const auto session = make();
  auto started = start(*session);
  GetParam().go(agent(*session), started.info.number);
  until([&] { return !ended.empty(); });
  EXPECT_EQ(ended[0].id, session->id());
  EXPECT_THAT(ended[0].why, HasSubstr("broke the protocol"));
  EXPECT_FALSE(session->alive());
  // What came before is given; the rest is not.
  Attachment::Event event = next(*started.attachment);
  while (std::holds_alternative<Attachment::Chunk>(event)) event = next(*started.attachment);
  EXPECT_TRUE(std::holds_alternative<Attachment::Gone>(event) ||
              std::holds_alternative<Attachment::Exited>(event));
  EXPECT_TRUE(other->alive());
  EXPECT_EQ(launcher.alive.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(
    Attacks, HostileAgent,
    testing::Values(
        Attack{"Garbage",
               [](FakeAgent& a, auto) {
                 a.say_bytes({std::byte{9}, std::byte{1}});
               }},
        Attack{"OutputBeyondTheWindow",
               [](FakeAgent& a, auto n) {
                 for (std::size_t i = 0; i < 5; ++i) {
                   a.print(n, Stream::kStdout, i * kChunk, std::string(kChunk, 'x'));
                 }
               }},
        Attack{"OutputBackwards",
               [](FakeAgent& a, auto n) {
                 a.print(n, Stream::kStdout, 0, "abc");
                 a.print(n, Stream::kStdout, 1, "bc");
               }},
        Attack{"OutputOfAnUnknownProcess",
               [](FakeAgent& a, auto n) { a.print(n + 1, Stream::kStdout, 0, "x"); }},
        Attack{"OutputWithoutASubscription",
               [](FakeAgent& a, auto n) { a.print(n, Stream::kResults, 0, "x"); }},
        Attack{"StartedTwice",
               [](FakeAgent& a, auto n) {
                 a.say(wire::ProcessStarted{n, 5, false});
               }},
        Attack{"EndedTwice",
               [](FakeAgent& a, auto n) {
                 a.say(wire::ProcessExited{n, {}, {}, {}, {}});
                 a.say(wire::ProcessExited{n, {}, {}, {}, {}});
               }},
        Attack{"TookMoreThanItWasSent",
               [](FakeAgent& a, auto n) {
                 a.say(wire::InputTaken{n, Stream::kStdin, 1, false});
               }},
        Attack{"UnexpectedWelcome", [](FakeAgent& a, auto) { a.say(wire::Welcome{1}); }},
        Attack{"ADescriptorTooMany",
               [](FakeAgent& a, auto n) {
                 a.say(wire::Output{n, Stream::kStdout, 0, "x", 0, 0, 0}, 0);
               }},
        Attack{"AnswersNoRequest",
               [](FakeAgent& a, auto) {
                 a.say(wire::FileDone{7, 0, {}, {}});
               }},
        Attack{"ADescriptorIsMissing", [](FakeAgent& a, auto) { a.say(wire::PortConnected{1}); }}),
    [](const auto& one) { return one.param.name; });

TEST_F(SessionTest, FramesThatComeTooFastAreReadMoreSlowly) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  FakeAgent& its_agent = agent(*session);
  // Single bytes, as many as the socket takes: all arrive, in order, and in few pieces.
  std::size_t bytes = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 100; ++i, ++bytes) {
      its_agent.print(started.info.number, Stream::kStdout, bytes, "x");
    }
    settle();
  }
  std::size_t got = 0;
  while (got < bytes) got += text(*started.attachment).size();
  EXPECT_EQ(got, bytes);
}

}  // namespace
}  // namespace glovebox::node
