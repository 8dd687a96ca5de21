// Files and ports of a session whose bytes come in frames: for their users nothing is different,
// nothing waits for a stream that is not read, and a lying agent ends its session only.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/testing/session_fixture.h"
#include "wire/guest/framed_stream.h"

namespace glovebox::node {
namespace {

class Framed : public SessionTest {
 protected:
  Framed() { options.session_link = GuestLink::kFrames; }

  FakeAgent& its_agent() { return agent(*session); }
  template <class Frame>
  std::vector<Frame> said() {
    return its_agent().template all<Frame>();
  }
  static wire::FileRequest request_for(wire::FileOp op) {
    wire::FileRequest request;
    request.op = op;
    request.path = "/home/user/file";
    return request;
  }
  std::unique_ptr<FileTransfer> open(wire::FileOp op) {
    const std::size_t before = said<wire::FileRequest>().size();
    auto opening = spawn(session->transfer(request_for(op)));
    until([&] { return said<wire::FileRequest>().size() > before; });
    number = said<wire::FileRequest>().back().request;
    its_agent().say(wire::FileOpened{number, "entry"});
    until([&] { return opening->has_value(); });
    return std::move((*opening)->value());
  }
  void begin_with(wire::FileOp op) {
    begin_base();
    session = make();
    transfer = open(op);
  }
  void connect() {
    begin_base();
    session = make();
    auto connecting = spawn(session->connect_port(8080));
    until([&] { return !said<wire::ConnectPort>().empty(); });
    number = said<wire::ConnectPort>()[0].request;
    its_agent().say(wire::PortConnected{number});
    until([&] { return connecting->has_value(); });
    port = std::move((*connecting)->value());
  }
  std::string received() {
    std::string text;
    for (const auto& data : said<wire::StreamData>()) text += data.bytes;
    return text;
  }
  // What the agent says comes in order: all that it said before this was handled.
  void finish_handling() { start(*session); }

  std::shared_ptr<Session> session;
  wire::RequestNumber number = 0;
  std::unique_ptr<FileTransfer> transfer;
  UniqueFd port;
};

TEST_F(Framed, AreAskedForInTheHello) {
  begin_base();
  session = make();
  EXPECT_EQ(said<wire::Hello>()[0].carrier, wire::Carrier::kFrames);
}

TEST_F(Framed, AnAgentThatInsistsOnDescriptorsIsRefused) {
  begin_base();
  launcher.carrier_of_agents = wire::Carrier::kDescriptors;
  EXPECT_FALSE(await(service().create_session(spec(), nullptr)));
}

TEST_F(Framed, AnAgentThatHasNoDescriptorsToGiveIsBelieved) {
  options.session_link = GuestLink::kDescriptors;
  begin_base();
  launcher.carrier_of_agents = wire::Carrier::kFrames;
  session = make();
  EXPECT_EQ(said<wire::Hello>()[0].carrier, wire::Carrier::kDescriptors);
  auto connecting = spawn(session->connect_port(8080));
  until([&] { return !said<wire::ConnectPort>().empty(); });
  its_agent().say(wire::PortConnected{1});
  until([&] { return connecting->has_value(); });
  EXPECT_TRUE((*connecting)->has_value());
}

TEST_F(Framed, AFileIsRead) {
  begin_with(wire::FileOp::kRead);
  EXPECT_EQ(transfer->entry(), "entry");
  char buffer[64];
  auto reading = spawn(transfer->read_some(buffer, sizeof buffer));
  settle();
  EXPECT_FALSE(reading->has_value());
  its_agent().say(wire::StreamData{number, "content"});
  until([&] { return reading->has_value(); });
  EXPECT_EQ(std::string(buffer, **reading), "content");
  // Done is said ahead of what is still under way.
  its_agent().say(wire::FileDone{number, 0, {}, {}, 11, 0});
  its_agent().say(wire::StreamData{number, "more"});
  its_agent().say(wire::StreamFinished{number});
  EXPECT_EQ(await(transfer->read_some(buffer, sizeof buffer)), 4u);
  EXPECT_EQ(await(transfer->read_some(buffer, sizeof buffer)), 0u);
  EXPECT_EQ(await(transfer->done()).value().bytes, 11u);
  transfer.reset();
  settle();
  EXPECT_TRUE(said<wire::AbandonFile>().empty());
}

TEST_F(Framed, AFileThatIsNotReadIsAcknowledgedWhenItIs) {
  begin_with(wire::FileOp::kRead);
  constexpr std::uint64_t kPipe = 1 << 20;  // at most
  const auto taken = [&]() -> std::uint64_t {
    const auto all = said<wire::StreamTaken>();
    return all.empty() ? 0 : all.back().offset;
  };
  std::uint64_t sent = 0;
  for (int i = 0; i < 10; ++i) {
    while (sent + wire::kMaxSessionChunk - taken() <= wire::kStreamWindow) {
      its_agent().say(wire::StreamData{number, std::string(wire::kMaxSessionChunk, 'x')});
      sent += wire::kMaxSessionChunk;
    }
    finish_handling();
  }
  const std::uint64_t before = taken();
  EXPECT_LE(before, kPipe);
  EXPECT_LE(sent, kPipe + wire::kStreamWindow);
  std::string buffer(kPipe, '\0');
  std::uint64_t got = 0;
  while (got < sent) got += await(transfer->read_some(buffer.data(), buffer.size()));
  until([&] { return taken() > before && taken() > sent - wire::kStreamWindow / 4; });
  EXPECT_LE(taken(), sent);
}

TEST_F(Framed, AFileIsWrittenAndCommittedBehindItsEnd) {
  begin_with(wire::FileOp::kWrite);
  const std::string content(3 * wire::kStreamWindow + 60'000, 'c');
  auto writing = spawn(transfer->write(content));
  // No more than the window is sent before the agent has taken something.
  until([&] { return received().size() == wire::kStreamWindow; });
  settle();
  EXPECT_EQ(received().size(), wire::kStreamWindow);
  its_agent().say(wire::StreamTaken{number, wire::kStreamWindow});
  until([&] { return received().size() == 2 * wire::kStreamWindow; });
  its_agent().say(wire::StreamTaken{number, 2 * wire::kStreamWindow});
  until([&] { return writing->has_value(); });
  EXPECT_TRUE(**writing);
  transfer->commit();
  settle();
  EXPECT_TRUE(said<wire::CommitFile>().empty());  // of what is still with us
  its_agent().say(wire::StreamTaken{number, 3 * wire::kStreamWindow});
  until([&] { return said<wire::CommitFile>().size() == 1; });
  EXPECT_EQ(received(), content);
  const auto& seen = its_agent().seen;
  EXPECT_TRUE(std::holds_alternative<wire::CommitFile>(seen.back()));
  EXPECT_TRUE(std::holds_alternative<wire::StreamFinished>(seen[seen.size() - 2]));
  its_agent().say(wire::FileDone{number, 0, {}, "written", content.size(), 1});
  EXPECT_EQ(await(transfer->done()).value().entry, "written");
}

TEST_F(Framed, AnEmptyFileIsCommittedToo) {
  begin_with(wire::FileOp::kWrite);
  transfer->commit();
  until([&] { return said<wire::CommitFile>().size() == 1; });
  EXPECT_EQ(said<wire::StreamFinished>().size(), 1u);
}

TEST_F(Framed, AWriterIsToldThatTheHelperDoesNotRead) {
  begin_with(wire::FileOp::kWrite);
  const std::string content(3'000'000, 'c');
  auto writing = spawn(transfer->write(content));
  until([&] { return received().size() == wire::kStreamWindow; });
  its_agent().say(wire::FileDone{number, ENOSPC, "write /home/user/file", {}});
  its_agent().say(wire::StreamStopped{number});
  until([&] { return writing->has_value(); });
  EXPECT_FALSE(**writing);
  EXPECT_EQ(await(transfer->done()).error().sys_errno(), ENOSPC);
}

TEST_F(Framed, AStreamThatNobodyReadsDelaysNothingElse) {
  begin_with(wire::FileOp::kRead);
  for (std::size_t sent = 0; sent < wire::kStreamWindow; sent += wire::kMaxSessionChunk) {
    its_agent().say(wire::StreamData{number, std::string(wire::kMaxSessionChunk, 'x')});
  }
  auto started = start(*session);
  its_agent().print(started.info.number, wire::Stream::kStdout, 0, "hello");
  EXPECT_EQ(text(*started.attachment), "hello");
}

TEST_F(Framed, OtherFramesAreSentBeforeThoseOfStreams) {
  begin_base();
  session = make();
  std::vector<std::unique_ptr<FileTransfer>> transfers;
  for (int i = 0; i < 8; ++i) transfers.push_back(open(wire::FileOp::kWrite));
  its_agent().pause();
  const std::string content(wire::kStreamWindow, 'c');
  std::vector<std::shared_ptr<std::optional<bool>>> writing;
  for (const auto& one : transfers) writing.push_back(spawn(one->write(content)));
  settle();
  auto asking = spawn(session->file(request_for(wire::FileOp::kStat)));
  settle();
  its_agent().go_on();
  until([&] { return said<wire::FileRequest>().size() == transfers.size() + 1; });
  // Before it came what the socket held, and one more.
  EXPECT_LT(received().size(), transfers.size() * content.size() / 2);
  its_agent().say(wire::FileDone{said<wire::FileRequest>().back().request, 0, {}, "record", 0, 1});
  until([&] { return asking->has_value(); });
  until([&] { return received().size() == transfers.size() * content.size(); });
  for (const auto& one : writing) until([&] { return one->has_value(); });
}

TEST_F(Framed, ATransferThatIsDroppedIsAbandoned) {
  begin_with(wire::FileOp::kRead);
  its_agent().say(wire::StreamData{number, "x"});
  transfer.reset();
  until([&] { return !said<wire::AbandonFile>().empty(); });
  its_agent().say(wire::StreamData{number, "late, and no crime"});
  its_agent().say(wire::StreamFinished{number});
  finish_handling();
  EXPECT_TRUE(session->alive());
}

TEST_F(Framed, WhatAHelperLeftUnreadIsAbandonedToo) {
  begin_with(wire::FileOp::kRead);
  its_agent().say(wire::StreamData{number, "x"});
  its_agent().say(wire::FileDone{number, 0, {}, {}, 1, 0});
  finish_handling();
  transfer.reset();
  until([&] { return said<wire::AbandonFile>().size() == 1; });
}

TEST_F(Framed, APortIsAConnection) {
  connect();
  EXPECT_NE(::fcntl(port.get(), F_GETFL) & O_NONBLOCK, 0);
  ASSERT_EQ(::write(port.get(), "question", 8), 8);
  until([&] { return received() == "question"; });
  its_agent().say(wire::StreamData{number, "answer"});
  char buffer[64];
  ssize_t got = -1;
  until([&] { return (got = ::read(port.get(), buffer, sizeof buffer)) >= 0; });
  EXPECT_EQ(std::string(buffer, static_cast<std::size_t>(got)), "answer");
  ::shutdown(port.get(), SHUT_WR);
  until([&] { return said<wire::StreamFinished>().size() == 1; });
  its_agent().say(wire::StreamFinished{number});
  until([&] { return ::read(port.get(), buffer, sizeof buffer) == 0; });
  EXPECT_TRUE(said<wire::StreamStopped>().empty());
}

TEST_F(Framed, APortThatItsUserClosesIsOver) {
  connect();
  ASSERT_EQ(::write(port.get(), "bye", 3), 3);
  port.reset();
  until([&] { return said<wire::StreamStopped>().size() == 1; });
  EXPECT_EQ(said<wire::StreamFinished>().size(), 1u);
  EXPECT_EQ(received(), "bye");
}

TEST_F(Framed, AConnectionThatNobodyWaitsForIsDropped) {
  begin_base();
  session = make();
  {
    auto connecting = spawn(session->connect_port(8080));
    until([&] { return !said<wire::ConnectPort>().empty(); });
    its_agent().say(wire::PortRefused{1, ECONNREFUSED});
    until([&] { return connecting->has_value(); });
  }
  // As if it had not been refused.
  its_agent().say(wire::PortConnected{1});
  until([&] { return said<wire::AbandonFile>().size() == 1; });
  EXPECT_TRUE(session->alive());
}

TEST_F(Framed, EndWithTheirSession) {
  connect();
  launcher.end(session->id().str(), EndReason::kAgentKilled);
  char byte = 0;
  until([&] { return ::read(port.get(), &byte, 1) == 0; });
}

TEST_F(Framed, EndWithTheirServer) {
  connect();
  session.reset();
  restart_server();
  until([&] { return adoptions == 1; });
  char byte = 0;
  EXPECT_EQ(::read(port.get(), &byte, 1), 0);
}

TEST_F(Framed, ADescriptorEndsTheSession) {
  begin_base();
  session = make();
  auto opening = spawn(session->transfer(request_for(wire::FileOp::kRead)));
  until([&] { return !said<wire::FileRequest>().empty(); });
  const UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  its_agent().say(wire::FileOpened{1, {}}, zero.get());
  until([&] { return opening->has_value(); });
  EXPECT_FALSE((*opening)->has_value());
  expect_broken(*session);
}

TEST_F(Framed, MoreThanTheWindowEndsTheSession) {
  begin_with(wire::FileOp::kRead);
  for (std::size_t sent = 0; sent < 4 * wire::kStreamWindow; sent += wire::kMaxSessionChunk) {
    its_agent().say(wire::StreamData{number, std::string(wire::kMaxSessionChunk, 'x')});
  }
  expect_broken(*session);
}

TEST_F(Framed, AStreamInTheWrongDirectionEndsTheSession) {
  begin_with(wire::FileOp::kWrite);
  its_agent().say(wire::StreamData{number, "x"});
  expect_broken(*session);
}

TEST_F(Framed, StreamsWithoutHavingBeenSettledEndTheSession) {
  options.session_link = GuestLink::kDescriptors;
  begin_base();
  session = make();
  its_agent().say(wire::StreamData{1, "x"});
  expect_broken(*session);
}

class ByteStream : public Framed {
 protected:
  ByteStream() { options.session_link = GuestLink::kByteStream; }
};

TEST_F(ByteStream, IsCutIntoFrames) {
  begin_with(wire::FileOp::kRead);
  its_agent().say(wire::StreamData{number, "content"});
  its_agent().say(wire::StreamFinished{number});
  char buffer[64];
  EXPECT_EQ(await(transfer->read_some(buffer, sizeof buffer)), 7u);
  EXPECT_EQ(await(transfer->read_some(buffer, sizeof buffer)), 0u);
}

TEST_F(ByteStream, IsFoundAgainByTheServerAfterThisOne) {
  begin_base();
  session = make();
  auto started = start(*session);
  started.attachment.reset();
  const std::string id = session->id().str();
  session.reset();
  // In the middle of a frame, in both directions.
  FakeAgent& one = launcher.session_agent(id);
  one.processes[started.info.number].process = started.info.number;
  one.say_raw("\xf5\xff\xff\x01");
  launcher.say_as_server(id, "\xf5\xff\xff\x01");
  options.session_link = GuestLink::kDescriptors;  // its socket stays what it is
  restart_server();
  until([&] { return adoptions == 1; });
  ASSERT_EQ(service().sessions().size(), 1u);
  session = service().find_session(service().sessions()[0]);
  EXPECT_EQ(said<wire::Hello>().back().carrier, wire::Carrier::kFrames);
  EXPECT_EQ(session->processes().size(), 1u);
  start(*session);
}

}  // namespace
}  // namespace glovebox::node
