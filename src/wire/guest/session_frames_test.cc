// Every frame of a session survives a round trip, and nothing that is not one is taken for one.
#include "wire/guest/session_frames.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

StartProcess start() {
  StartProcess start;
  start.process = 7;
  start.kind = ProcessKind::kWarmContext;
  start.exec.argv = {"/bin/sh", "-c", ""};
  start.exec.env = {"A=b"};
  start.user = "root";
  start.label = std::string("a\0b", 3);
  start.has_stdin = true;
  start.lossy = true;
  start.subscribed = false;
  return start;
}

FileRequest request(FileOp op, std::string path) {
  FileRequest request;
  request.request = 3;
  request.op = op;
  request.path = std::move(path);
  return request;
}

std::vector<ServerFrame> server_frames() {
  StartProcess terminal;
  terminal.exec.argv = {"x"};
  terminal.exec.terminal = TerminalSize{50, 132};
  FileRequest write = request(FileOp::kWrite, "a\xff b");
  write.user = "1000";
  write.mode = 04755;
  write.owner = "root:root";
  write.overwrite = false;
  write.from = 5;
  write.most = 6;
  write.details = true;
  write.metadata = {{"k", "v w"}, {"l", ""}};
  FileRequest move = request(FileOp::kMove, "/a");
  move.target = "/b";
  const FileRequest snapshot = request(FileOp::kSnapshotOut, "");
  return {Hello{UINT64_MAX},
          start(),
          terminal,
          Input{1, Stream::kRequests, 9, std::string("\0\xff", 2)},
          CloseInput{1, Stream::kStdin},
          Subscribe{1, Stream::kStderr, 77, 5},
          Unsubscribe{1, Stream::kResults},
          Acknowledge{1, Stream::kStdout, 1},
          SetLossy{2, true},
          SignalProcess{2, 64, false},
          ResizeProcess{2, {1, 2}},
          ForgetProcess{2},
          write,
          move,
          snapshot,
          CommitFile{3},
          AbandonFile{4},
          ConnectPort{5, 8080},
          EndProcesses{6}};
}

std::vector<SessionFrame> session_frames() {
  ProcessStatus is;
  is.process = 1;
  is.kind = ProcessKind::kContext;
  is.pid = 2;
  is.label = "x";
  is.warm = true;
  is.out = {3, 4};
  is.input_taken = 8;
  is.requests_taken = 9;
  ProcessStatus ended = is;
  ended.ended = ProcessEnd{1, 9, true, 5, 6};
  return {is,
          ended,
          Welcome{3},
          ProcessStarted{1, 2, true},
          StartRefused{1, ENOENT, "execute"},
          Output{1, Stream::kResults, 5, "{}\n", 6, 7, 8},
          InputTaken{1, Stream::kStdin, 6, true},
          ProcessExited{1, {127, 0, false, 1, 2}, {0, 1}, {2, 2}, {3, 9}},
          FileOpened{1, std::string("\0x", 2)},
          FileDone{1, ENOSPC, "the disk is full", "e", 5, 6},
          PortConnected{1},
          PortRefused{1, ECONNREFUSED}};
}

template <class Frames, class Decode>
void expect_round_trips(const Frames& frames, Decode decode) {
  for (const auto& frame : frames) {
    const std::vector<std::byte> bytes = encode(frame);
    const auto back = decode(bytes);
    ASSERT_TRUE(back) << frame.index();
    EXPECT_EQ(*back, frame) << frame.index();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode(std::span(bytes).first(size))) << frame.index();
    }
    std::vector<std::byte> longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(decode(longer));
    std::vector<std::byte> other = bytes;
    other[0] = std::byte{99};
    EXPECT_FALSE(decode(other));
  }
}

bool taken(const ServerFrame& frame) { return decode_server_frame(encode(frame)).has_value(); }
bool taken(const SessionFrame& frame) { return decode_session_frame(encode(frame)).has_value(); }

TEST(SessionFrames, RoundTripAndTakeNothingElse) {
  expect_round_trips(server_frames(), decode_server_frame);
  expect_round_trips(session_frames(), decode_session_frame);
}

TEST(SessionFrames, OneSidesFramesAreNotTheOthers) {
  for (const auto& frame : server_frames()) EXPECT_FALSE(decode_session_frame(encode(frame)));
  for (const auto& frame : session_frames()) EXPECT_FALSE(decode_server_frame(encode(frame)));
}

TEST(SessionFrames, RefuseUnknownKinds) {
  for (unsigned kind = 0; kind < 256; ++kind) {
    const std::byte bytes[] = {std::byte{kSessionProtocol}, static_cast<std::byte>(kind)};
    EXPECT_FALSE(decode_server_frame(bytes));
    EXPECT_FALSE(decode_session_frame(bytes));
  }
}

TEST(SessionFrames, RefuseWhatNoProgramCouldBe) {
  StartProcess frame = start();
  ASSERT_TRUE(taken(frame));
  frame.exec.argv[1] = std::string("a\0b", 3);
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.exec.env[0] = std::string("A=\0", 3);
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.exec.argv.clear();
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.user = "";
  EXPECT_FALSE(taken(frame));
  frame.user = std::string(kMaxUserName + 1, 'a');
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.label = std::string(kMaxLabel + 1, 'a');
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.exec.terminal = TerminalSize{};  // a context has none
  EXPECT_FALSE(taken(frame));
  frame = start();
  frame.kind = static_cast<ProcessKind>(4);
  EXPECT_FALSE(taken(frame));
}

TEST(SessionFrames, RefuseStreamsOfTheOtherDirection) {
  EXPECT_FALSE(taken(Input{1, Stream::kStdout, 0, "x"}));
  EXPECT_FALSE(taken(CloseInput{1, Stream::kResults}));
  EXPECT_FALSE(taken(Subscribe{1, Stream::kStdin, 0}));
  EXPECT_FALSE(taken(Acknowledge{1, Stream::kRequests, 0}));
  EXPECT_FALSE(taken(Output{1, Stream::kStdin, 0, "x"}));
  EXPECT_FALSE(taken(InputTaken{1, Stream::kStdout, 0, false}));
}

TEST(SessionFrames, RefuseOffsetsThatWrap) {
  EXPECT_TRUE(taken(Input{1, Stream::kStdin, UINT64_MAX - 1, "x"}));
  EXPECT_FALSE(taken(Input{1, Stream::kStdin, UINT64_MAX, "x"}));
  EXPECT_FALSE(taken(Output{1, Stream::kStdout, UINT64_MAX, "x"}));
  ProcessExited exited;
  exited.out = {2, 1};
  EXPECT_FALSE(taken(exited));
}

TEST(SessionFrames, RefuseBadSignalsPortsPathsAndModes) {
  EXPECT_FALSE(taken(SignalProcess{1, 0, true}));
  EXPECT_FALSE(taken(SignalProcess{1, 65, true}));
  EXPECT_FALSE(taken(ConnectPort{1, 0}));
  FileRequest file = request(FileOp::kStat, std::string("/a\0b", 4));
  EXPECT_FALSE(taken(file));
  file.path = std::string(kMaxSessionPath + 1, 'a');
  EXPECT_FALSE(taken(file));
  file.path = "";
  EXPECT_FALSE(taken(file));
  file.path = "/a";
  EXPECT_TRUE(taken(file));
  file.mode = 010000;
  EXPECT_FALSE(taken(file));
  file.mode.reset();
  file.metadata = {{"k", "v"}};
  EXPECT_TRUE(taken(file));
  file.metadata = {{"k", "\x01"}};
  EXPECT_FALSE(taken(file));
  file.metadata.assign(kMaxMetadataPairs + 1, {"k", "v"});
  EXPECT_FALSE(taken(file));
  file.metadata.clear();
  file.op = FileOp::kCopy;  // to where?
  EXPECT_FALSE(taken(file));
}

TEST(SessionFrames, CutWhatIsOnlyForPeople) {
  FileDone done;
  done.message = std::string(100000, 'm');
  const auto back = decode_session_frame(encode(SessionFrame(done)));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<FileDone>(*back).message.size(), 1024u);
}

TEST(SessionFrames, ALyingCountAllocatesNothing) {
  std::vector<std::byte> bytes = encode(ServerFrame(start()));
  bytes[11] = std::byte{0xff};  // the count of arguments, after version, kind, process and kind
  bytes[12] = std::byte{0x0f};
  EXPECT_FALSE(decode_server_frame(bytes));
}

}  // namespace
}  // namespace glovebox::wire
