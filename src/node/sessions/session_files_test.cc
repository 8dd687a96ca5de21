// Files and ports of a session: what moves through the pipe, and pipes that are none.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "node/testing/session_fixture.h"

namespace glovebox::node {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) std::abort();
    read.reset(ends[0]);
    write.reset(ends[1]);
  }
  UniqueFd read, write;
};

class SessionFiles : public SessionTest {
 protected:
  void begin_with(wire::FileOp op) {
    begin_base();
    session = make();
    wire::FileRequest request;
    request.op = op;
    request.path = "/home/user/file";
    opening = spawn(session->transfer(std::move(request)));
    until([&] { return !agent(*session).all<wire::FileRequest>().empty(); });
    number = agent(*session).all<wire::FileRequest>()[0].request;
  }
  void opened(UniqueFd& theirs) {
    agent(*session).say(wire::FileOpened{number, "entry"}, theirs.get());
    theirs.reset();
    until([&] { return opening->has_value(); });
    transfer = std::move((*opening)->value());
  }

  std::shared_ptr<Session> session;
  wire::RequestNumber number = 0;
  std::shared_ptr<std::optional<Result<std::unique_ptr<FileTransfer>>>> opening;
  std::unique_ptr<FileTransfer> transfer;
};

TEST_F(SessionFiles, AreReadThroughTheirPipe) {
  begin_with(wire::FileOp::kRead);
  Pipe pipe;
  opened(pipe.read);
  EXPECT_EQ(transfer->entry(), "entry");
  char buffer[64];
  auto reading = spawn(transfer->read_some(buffer, sizeof buffer));
  settle();
  EXPECT_FALSE(reading->has_value());
  ASSERT_EQ(::write(pipe.write.get(), "content", 7), 7);
  until([&] { return reading->has_value(); });
  EXPECT_EQ(std::string(buffer, **reading), "content");
  pipe.write.reset();
  EXPECT_EQ(await(transfer->read_some(buffer, sizeof buffer)), 0u);
  agent(*session).say(wire::FileDone{number, 0, {}, {}, 7, 0});
  EXPECT_EQ(await(transfer->done()).value().bytes, 7u);
  transfer.reset();
  settle();
  EXPECT_TRUE(agent(*session).all<wire::AbandonFile>().empty());
}

TEST_F(SessionFiles, AreWrittenAndKeptWhenThatIsSaid) {
  begin_with(wire::FileOp::kWrite);
  Pipe pipe;
  opened(pipe.write);
  const std::string content(3'000'000, 'c');  // more than a pipe holds
  auto writing = spawn(transfer->write(content));
  std::string got;
  char buffer[65536];
  until([&] {
    const ssize_t size = ::read(pipe.read.get(), buffer, sizeof buffer);
    if (size > 0) got.append(buffer, static_cast<std::size_t>(size));
    return writing->has_value() && got.size() == content.size();
  });
  EXPECT_TRUE(**writing);
  EXPECT_EQ(got, content);
  EXPECT_TRUE(agent(*session).all<wire::CommitFile>().empty());
  transfer->commit();
  EXPECT_EQ(::read(pipe.read.get(), buffer, sizeof buffer), 0);
  until([&] { return agent(*session).all<wire::CommitFile>().size() == 1; });
  agent(*session).say(wire::FileDone{number, 0, {}, "written", 3'000'000, 1});
  EXPECT_EQ(await(transfer->done()).value().entry, "written");
}

TEST_F(SessionFiles, AFullDiskIsToldWithItsErrno) {
  begin_with(wire::FileOp::kWrite);
  Pipe pipe;
  opened(pipe.write);
  const std::string content(3'000'000, 'c');
  auto writing = spawn(transfer->write(content));
  settle();
  agent(*session).say(wire::FileDone{number, ENOSPC, "write /home/user/file", {}});
  pipe.read.reset();
  until([&] { return writing->has_value(); });
  EXPECT_FALSE(**writing);
  const auto done = await(transfer->done());
  EXPECT_EQ(done.error().sys_errno(), ENOSPC);
  EXPECT_EQ(done.error().code(), Errc::kResourceExhausted);
  EXPECT_THAT(done.error().message(), HasSubstr("No space left"));
}

TEST_F(SessionFiles, ThatAreNotThereAreAnError) {
  begin_with(wire::FileOp::kRead);
  agent(*session).say(wire::FileDone{number, ENOENT, "open\x1b[31m", {}});
  until([&] { return opening->has_value(); });
  EXPECT_EQ((*opening)->error().code(), Errc::kNotFound);
  EXPECT_EQ((*opening)->error().message().find('\x1b'), std::string::npos);
}

TEST_F(SessionFiles, ThatAreDroppedAreAbandoned) {
  begin_with(wire::FileOp::kRead);
  Pipe pipe;
  opened(pipe.read);
  transfer.reset();
  until([&] { return agent(*session).all<wire::AbandonFile>().size() == 1; });
  ASSERT_EQ(::write(pipe.write.get(), "x", 1), -1);            // its end is closed
  agent(*session).say(wire::FileDone{number, EPIPE, {}, {}});  // late, and no crime
  settle();
  EXPECT_TRUE(session->alive());
}

TEST_F(SessionFiles, AWatchThatIsClosedStopsWaiting) {
  begin_with(wire::FileOp::kWatch);
  Pipe pipe;
  opened(pipe.read);
  char buffer[64];
  auto reading = spawn(transfer->read_some(buffer, sizeof buffer));
  settle();
  transfer->close();
  until([&] { return reading->has_value(); });
  EXPECT_EQ(**reading, 0u);
}

TEST_F(SessionFiles, ThatAreNoPipeEndTheSession) {
  begin_with(wire::FileOp::kRead);
  UniqueFd zero(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
  agent(*session).say(wire::FileOpened{number, {}}, zero.get());
  until([&] { return opening->has_value(); });
  EXPECT_FALSE((*opening)->has_value());
  expect_broken(*session);
}

TEST_F(SessionFiles, ASilentHelperIsNotWaitedForWithoutEnd) {
  options.request_wait = milliseconds(20);
  begin_with(wire::FileOp::kRead);
  until([&] { return opening->has_value(); });
  EXPECT_EQ((*opening)->error().code(), Errc::kTimeout);
  until([&] { return agent(*session).all<wire::AbandonFile>().size() == 1; });
}

TEST_F(SessionFiles, AnswersWithoutAPipeAreAwaited) {
  begin_base();
  session = make();
  wire::FileRequest request;
  request.op = wire::FileOp::kStat;
  request.path = "/etc";
  auto asking = spawn(session->file(request));
  until([&] { return !agent(*session).all<wire::FileRequest>().empty(); });
  agent(*session).say(wire::FileDone{1, 0, {}, "record", 0, 1});
  until([&] { return asking->has_value(); });
  EXPECT_EQ((*asking)->value().entry, "record");
  request.path = std::string("/a\0b", 4);
  EXPECT_EQ(await(session->file(request)).error().code(), Errc::kInvalidArgument);
}

TEST_F(SessionFiles, EndWithTheirSession) {
  begin_with(wire::FileOp::kRead);
  launcher.end(session->id().str(), EndReason::kAgentKilled);
  until([&] { return opening->has_value(); });
  EXPECT_EQ((*opening)->error().code(), Errc::kUnavailable);
}

class SessionPorts : public SessionTest {
 protected:
  void begin_connecting() {
    begin_base();
    session = make();
    connecting = spawn(session->connect_port(8080));
    until([&] { return !agent(*session).all<wire::ConnectPort>().empty(); });
    EXPECT_EQ(agent(*session).all<wire::ConnectPort>()[0].port, 8080);
  }
  std::shared_ptr<Session> session;
  std::shared_ptr<std::optional<Result<UniqueFd>>> connecting;
};

TEST_F(SessionPorts, AConnectionIsHandedOver) {
  begin_connecting();
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  agent(*session).say(wire::PortConnected{1}, socket.get());
  until([&] { return connecting->has_value(); });
  ASSERT_TRUE((*connecting)->has_value());
  EXPECT_NE(::fcntl((*connecting)->value().get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST_F(SessionPorts, AClosedPortIsAnError) {
  begin_connecting();
  agent(*session).say(wire::PortRefused{1, ECONNREFUSED});
  until([&] { return connecting->has_value(); });
  EXPECT_EQ((*connecting)->error().code(), Errc::kUnavailable);
  EXPECT_EQ((*connecting)->error().sys_errno(), ECONNREFUSED);
}

TEST_F(SessionPorts, WhatIsNoConnectionEndsTheSession) {
  begin_connecting();
  UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  agent(*session).say(wire::PortConnected{1}, datagrams.get());
  until([&] { return connecting->has_value(); });
  EXPECT_FALSE((*connecting)->has_value());
  expect_broken(*session);
}

TEST_F(SessionTest, TheEndOfAllProcessesIsAwaited) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  auto ending = spawn(session->end_processes());
  until([&] { return agent(*session).all<wire::EndProcesses>().size() == 1; });
  EXPECT_FALSE(ending->has_value());
  const auto request = agent(*session).all<wire::EndProcesses>()[0].request;
  agent(*session).say(wire::FileDone{request, 0, {}, {}});
  settle();
  EXPECT_FALSE(ending->has_value());  // its exit has not been reported yet
  agent(*session).say(wire::ProcessExited{started.info.number, {.signal = 9}, {}, {}, {}});
  until([&] { return ending->has_value(); });
  EXPECT_TRUE((*ending)->has_value());
}

TEST_F(SessionTest, CallsThatWaitForAnAbandonedProcessEnd) {
  begin_base();
  const auto session = make();
  auto started = start(*session);
  auto exit = spawn(session->wait_exit(started.info.number, Clock::time_point::max()));
  ProcessSpec spec;
  spec.exec.argv = {"/bin/true"};
  const auto answered = agent(*session).all<wire::StartProcess>().size();
  agent(*session).starts = false;
  auto starting = spawn(session->start(spec, Session::Attach::kYes));
  until([&] { return agent(*session).all<wire::StartProcess>().size() > answered; });
  session->abandon_processes(Error(Errc::kConflict, "paused"));
  until([&] { return starting->has_value() && exit->has_value(); });
  EXPECT_EQ((*starting)->error().message(), "paused");
  EXPECT_EQ((*exit)->error().message(), "paused");
  // It starts when the sandbox is resumed, and is not wanted then.
  const auto number = agent(*session).all<wire::StartProcess>().back().process;
  agent(*session).say(wire::ProcessStarted{number, 7, false});
  until([&] { return !agent(*session).all<wire::SignalProcess>().empty(); });
  EXPECT_TRUE(session->alive());
}

TEST_F(SessionTest, ProcessesThatCannotBeEndedAreAnError) {
  begin_base();
  const auto session = make();
  auto ending = spawn(session->end_processes());
  until([&] { return agent(*session).all<wire::EndProcesses>().size() == 1; });
  const auto request = agent(*session).all<wire::EndProcesses>()[0].request;
  agent(*session).say(wire::FileDone{request, ENOTSUP, "no", {}});
  until([&] { return ending->has_value(); });
  EXPECT_FALSE((*ending)->has_value());
}

}  // namespace
}  // namespace glovebox::node
