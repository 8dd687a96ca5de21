// Every frame of a session survives a round trip, and nothing that is not one is taken for one.
#include "wire/guest/session_frames.h"

#include <gtest/gtest.h>

#include "wire/testing/round_trips.h"

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
          Hello{1, Carrier::kFrames},
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
          EndProcesses{6},
          StreamData{7, std::string("\0\xff", 2)},
          StreamTaken{7, UINT64_MAX},
          StreamFinished{7},
          StreamStopped{7}};
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
          Welcome{3, Carrier::kFrames},
          ProcessStarted{1, 2, true},
          StartRefused{1, ENOENT, "execute"},
          Output{1, Stream::kResults, 5, "{}\n", 6, 7, 8},
          InputTaken{1, Stream::kStdin, 6, true},
          ProcessExited{1, {127, 0, false, 1, 2}, {0, 1}, {2, 2}, {3, 9}},
          FileOpened{1, std::string("\0x", 2)},
          FileDone{1, ENOSPC, "the disk is full", "e", 5, 6},
          PortConnected{1},
          PortRefused{1, ECONNREFUSED},
          StreamData{7, "x"},
          StreamTaken{7, 1},
          StreamFinished{7},
          StreamStopped{7}};
}

bool taken(const ServerFrame& frame) { return decode_server_frame(encode(frame)).has_value(); }
bool taken(const SessionFrame& frame) { return decode_session_frame(encode(frame)).has_value(); }

TEST(SessionFrames, RoundTripAndTakeNothingElse) {
  expect_round_trips(server_frames(), decode_server_frame);
  expect_round_trips(session_frames(), decode_session_frame);
}

TEST(SessionFrames, AreTakenUpToTheirLargestSize) {
  const auto of_size = [](std::size_t size) {
    StartProcess frame = start();
    frame.exec.env.assign(1, std::string(100'000, 'x'));
    frame.exec.argv.back().assign(size - encode(ServerFrame(frame)).size(), 'x');
    EXPECT_EQ(encode(ServerFrame(frame)).size(), size);
    return taken(ServerFrame(frame));
  };
  EXPECT_TRUE(of_size(kMaxSessionFrame));
  EXPECT_FALSE(of_size(kMaxSessionFrame + 1));
}

TEST(SessionFrames, HaveOneSpelling) {
  expect_one_spelling(server_frames(), decode_server_frame);
  expect_one_spelling(session_frames(), decode_session_frame);
}

TEST(SessionFrames, WhatIsNotSaidIsTheUsualWay) {
  const StartProcess start;
  EXPECT_FALSE(start.has_stdin);
  EXPECT_FALSE(start.lossy);
  EXPECT_TRUE(start.subscribed);
  EXPECT_FALSE(SetLossy{}.lossy);
  EXPECT_TRUE(SignalProcess{}.group);
  const FileRequest file;
  EXPECT_FALSE(file.recursive);
  EXPECT_TRUE(file.follow);
  EXPECT_TRUE(file.overwrite);
  EXPECT_FALSE(file.details);
  EXPECT_FALSE(ProcessEnd{}.oom_killed);
  const ProcessStatus status;
  EXPECT_FALSE(status.warm || status.terminal || status.lossy);
  EXPECT_FALSE(ProcessStarted{}.warm);
  EXPECT_EQ(Hello{}.carrier, Carrier::kDescriptors);
  EXPECT_EQ(Welcome{}.carrier, Carrier::kDescriptors);
  EXPECT_FALSE(InputTaken{}.closed);
}

TEST(SessionFrames, TakeEverythingUpToItsBound) {
  const auto is_read_back = [](const auto& frame) {
    const ServerFrame as_frame(frame);
    const auto back = decode_server_frame(encode(as_frame));
    return back && *back == as_frame;
  };
  EXPECT_TRUE(is_read_back(SignalProcess{1, 1, true}));
  EXPECT_TRUE(is_read_back(SignalProcess{1, 64, true}));
  EXPECT_TRUE(is_read_back(ConnectPort{1, 1}));
  EXPECT_TRUE(is_read_back(ConnectPort{1, 65535}));
  EXPECT_TRUE(is_read_back(Input{1, Stream::kStdin, 0, std::string(kMaxSessionChunk, 'x')}));
  EXPECT_FALSE(taken(Input{1, Stream::kStdin, 0, std::string(kMaxSessionChunk + 1, 'x')}));
  StartProcess frame = start();
  frame.user = std::string(kMaxUserName, 'a');
  frame.label = std::string(kMaxLabel, 'a');
  EXPECT_TRUE(is_read_back(frame));
  for (unsigned kind = 1; kind <= 3; ++kind) {
    frame.kind = static_cast<ProcessKind>(kind);
    EXPECT_TRUE(is_read_back(frame)) << kind;
  }
  frame.kind = static_cast<ProcessKind>(0);
  EXPECT_FALSE(taken(frame));
  FileRequest file = request(FileOp::kStat, "/a");
  file.mode = 07777;
  EXPECT_TRUE(is_read_back(file));
  file.metadata.assign(kMaxMetadataPairs, {"k", ""});
  EXPECT_TRUE(is_read_back(file));
  file = request(FileOp::kStat, std::string(kMaxSessionPath, 'a'));
  EXPECT_TRUE(is_read_back(file));
  ProcessExited exited;
  exited.end.signal = 64;
  exited.out = {5, 5};
  EXPECT_TRUE(taken(exited));
  exited.end.signal = 65;
  EXPECT_FALSE(taken(exited));
  EXPECT_TRUE(taken(StartRefused{1, 0xffff, "execute"}));
  EXPECT_FALSE(taken(StartRefused{1, 0x10000, "execute"}));
}

TEST(SessionFrames, AStreamsBytesAreSomeAndBounded) {
  EXPECT_FALSE(taken(ServerFrame(StreamData{1, ""})));
  EXPECT_TRUE(taken(ServerFrame(StreamData{1, std::string(kMaxSessionChunk, 'x')})));
  EXPECT_FALSE(taken(ServerFrame(StreamData{1, std::string(kMaxSessionChunk + 1, 'x')})));
  EXPECT_TRUE(taken(SessionFrame(StreamData{1, std::string(kMaxSessionChunk, 'x')})));
  EXPECT_FALSE(taken(SessionFrame(StreamData{1, std::string(kMaxSessionChunk + 1, 'x')})));
}

TEST(SessionFrames, AMarkIsOfItsEpoch) {
  EXPECT_EQ(mark_of(5), mark_of(5));
  EXPECT_NE(mark_of(5), mark_of(6));
  EXPECT_NE(mark_of(5), mark_of(5ull << 56));
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
