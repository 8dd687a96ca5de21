// What goes through a program's standard streams is bytes, all of them, in order.
#include "engine_contract.h"

namespace glovebox::contract {
namespace {

class ProgramStreams : public EngineContract {};

std::string every_byte_many_times() {
  std::string bytes;
  for (int round = 0; round < 1000; ++round) {
    for (int byte = 0; byte < 256; ++byte)
      bytes.push_back(static_cast<char>((byte * 7 + round) & 255));
  }
  return bytes;
}

TEST_P(ProgramStreams, StdoutCarriesEveryByteOfStdin) {
  const std::string bytes = every_byte_many_times();
  const Collected ran = run(program({"/bin/cat"}), {.input = bytes, .on_output = {}});
  ASSERT_TRUE(ran.ran()) << ran.result.error().message();
  EXPECT_TRUE(ran.out == bytes) << ran.out.size() << " of " << bytes.size() << " bytes";
  EXPECT_EQ(ran.err, "");
  EXPECT_EQ(ran.outcome().output_bytes, bytes.size());
}

TEST_P(ProgramStreams, StderrCarriesEveryByteOfStdin) {
  const std::string bytes = every_byte_many_times();
  const Collected ran = run(shell("exec cat >&2"), {.input = bytes, .on_output = {}});
  ASSERT_TRUE(ran.ran()) << ran.result.error().message();
  EXPECT_TRUE(ran.err == bytes) << ran.err.size() << " of " << bytes.size() << " bytes";
  EXPECT_EQ(ran.out, "");
}

TEST_P(ProgramStreams, NoInputIsEndOfFile) {
  const Collected ran = run(shell("cat; echo end"));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "end\n");
}

TEST_P(ProgramStreams, EndOfInputReachesTheProgram) {
  const Collected ran =
      run(shell("wc -c"), {.input = std::string(5'000'000, 'x'), .on_output = {}});
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "5000000\n");
}

TEST_P(ProgramStreams, InputThatIsNotReadDoesNotHoldTheRun) {
  const Collected ran =
      run(shell("exit 3"), {.input = std::string(5'000'000, 'x'), .on_output = {}});
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 3);
}

TEST_P(ProgramStreams, FiftyMegabytesArriveWhole) {
  constexpr std::size_t kBytes = 50u << 20;
  const Collected ran =
      run(program({"/usr/bin/perl", "-e", "print chr(97 + $_ % 26) x 65536 for 0..799"}));
  ASSERT_TRUE(ran.ran()) << ran.result.error().message();
  ASSERT_EQ(ran.out.size(), kBytes);
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kBytes; ++i) {
    wrong += ran.out[i] != static_cast<char>('a' + (i / 65536) % 26) ? 1 : 0;
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_EQ(ran.outcome().output_bytes, kBytes);
  EXPECT_FALSE(ran.outcome().truncated);
}

TEST_P(ProgramStreams, OutputPastItsLimitIsDroppedCountedAndSaid) {
  engine::RunRequest request = program({"/usr/bin/perl", "-e", "print 'x' x 300000; exit 4"});
  request.output_limit = 1000;
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, std::string(1000, 'x'));
  EXPECT_TRUE(ran.outcome().truncated);
  EXPECT_EQ(ran.outcome().output_bytes, 300'000u);
  EXPECT_EQ(ran.outcome().exit_code, 4);
}

TEST_P(ProgramStreams, OutputWithinItsLimitIsNotCut) {
  engine::RunRequest request = shell("printf 12345; printf 67890 >&2");
  request.output_limit = 10;
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "12345");
  EXPECT_EQ(ran.err, "67890");
  EXPECT_FALSE(ran.outcome().truncated);
}

TEST_P(ProgramStreams, AReaderThatLeavesEndsTheWriter) {
  Feed feed;
  feed.on_output = [](engine::Stream, std::string_view) { return false; };
  const Collected ran = run(program({"/usr/bin/yes"}), feed);
  ASSERT_TRUE(ran.ran()) << ran.result.error().message();
  EXPECT_FALSE(ran.outcome().timed_out);
  EXPECT_NE(ran.outcome().exit_code, 0);
}

TEST_P(ProgramStreams, ATerminalIsOneWhereTheEngineHasThem) {
  if (!features().terminal) GTEST_SKIP() << GetParam() << " says that it has no terminals";
  engine::RunRequest request = shell("test -t 0 && test -t 1 && test -t 2 && stty size");
  request.exec.terminal = TerminalSize{33, 101};
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "33 101\r\n");
  EXPECT_EQ(ran.outcome().exit_code, 0);
}

INSTANTIATE_TEST_SUITE_P(EveryEngine, ProgramStreams, ::testing::ValuesIn(every_engine()),
                         engine_of);

}  // namespace
}  // namespace glovebox::contract
