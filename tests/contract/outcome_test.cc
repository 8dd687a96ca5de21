// How a program ended is an outcome; that Glovebox could not do its part is an error.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "engine_contract.h"

namespace glovebox::contract {
namespace {

using ::testing::HasSubstr;

class ProgramOutcome : public EngineContract {};

TEST_P(ProgramOutcome, ProbeTellsWhichWallsStandAndTheirGrade) {
  const auto probed = engine().probe();
  ASSERT_TRUE(probed) << probed.error().message();
  EXPECT_EQ(probed->grade, grade_of(engine().kind(), probed->walls));
  EXPECT_FALSE(probed->walls.names().empty());
  EXPECT_TRUE(probed->walls.has(Wall::kNoNewPrivileges));
  EXPECT_TRUE(probed->walls.has(Wall::kSeccomp));
}

TEST_P(ProgramOutcome, ARunTellsTheWallsThatProbePromised) {
  const engine::Features promised = features();
  const Collected ran = run(program({"/bin/true"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().walls, promised.walls);
  EXPECT_EQ(ran.outcome().engine, engine().kind());
}

TEST_P(ProgramOutcome, ExitCodeIsTheProgramsOwn) {
  for (const int code : {0, 1, 42, 124, 255}) {
    const Collected ran = run(shell("exit " + std::to_string(code)));
    ASSERT_TRUE(ran.ran()) << ran.story();
    EXPECT_EQ(ran.outcome().exit_code, code);
    EXPECT_EQ(ran.outcome().signal, 0);
    EXPECT_FALSE(ran.outcome().timed_out);
    EXPECT_FALSE(ran.outcome().oom_killed);
  }
}

TEST_P(ProgramOutcome, AProgramThatASignalEndsIsNotAnError) {
  // Where neither Landlock (ABI 6) nor a pid namespace keeps signals in, that engine has none at
  // all.
  const long abi = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, 1u);
  if (GetParam() == "process" && abi < 6) GTEST_SKIP() << "process has no signals on this kernel";
  for (const int signal : {SIGSEGV, SIGABRT, SIGTERM, SIGKILL}) {
    const Collected ran = run(shell("kill -" + std::to_string(signal) + " $$"));
    ASSERT_TRUE(ran.ran()) << ran.story();
    EXPECT_EQ(ran.outcome().signal, signal);
    EXPECT_EQ(ran.outcome().exit_code, 128 + signal);
    EXPECT_FALSE(ran.outcome().timed_out);
    EXPECT_FALSE(ran.outcome().oom_killed);
  }
}

TEST_P(ProgramOutcome, AnUnknownProgramIsAnErrorThatNamesIt) {
  const Collected ran = run(program({"/usr/bin/no-such-program"}));
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr("/usr/bin/no-such-program"));
  EXPECT_EQ(ran.result.error().sys_errno(), ENOENT);
}

TEST_P(ProgramOutcome, AFileThatIsNoProgramIsAnErrorThatNamesIt) {
  const Collected ran = run(program({"/usr/bin"}));
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr("/usr/bin"));
}

TEST_P(ProgramOutcome, AMissingWorkingDirectoryIsAnErrorThatSaysSo) {
  engine::RunRequest request = program({"/bin/true"});
  request.exec.workdir = "/home/user/not/there";
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr("working directory"));
}

TEST_P(ProgramOutcome, AGradeAboveWhatStandsIsRefusedBeforeAnythingRuns) {
  TempDir dir(65534);
  engine::RunRequest request = shell("echo ran; touch /mnt/ran");
  request.min_grade = Grade::kVm;
  if (features().mounts) {
    request.sandbox.mounts.push_back(
        {MountMode::kReadWrite, dir.path(), GuestPath::parse("/mnt").value()});
  }
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.result.error().code(), Errc::kPolicy);
  EXPECT_THAT(ran.result.error().message(), HasSubstr("'vm'"));
  EXPECT_EQ(ran.out, "");
  EXPECT_FALSE(exists(dir / "ran"));
}

TEST_P(ProgramOutcome, AGradeThatStandsIsNoObstacle) {
  engine::RunRequest request = shell("echo ran");
  request.min_grade = features().grade;
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "ran\n");
}

TEST_P(ProgramOutcome, TheCallerCanStopIt) {
  int stop[2];
  ASSERT_EQ(::pipe2(stop, O_CLOEXEC), 0);
  const UniqueFd stop_read(stop[0]);
  const UniqueFd stop_write(stop[1]);
  const std::string word = unique_word();
  Feed feed;
  feed.stop_fd = stop_read.get();
  feed.on_output = [&](engine::Stream, std::string_view) {
    return ::write(stop_write.get(), "", 1) == 1;
  };
  const Collected ran = run(shell("echo ready; exec sleep " + word), feed);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_TRUE(ran.result->stopped);
  EXPECT_FALSE(ran.outcome().timed_out);
  EXPECT_LT(ran.took.count(), 10'000) << ran.story();
  EXPECT_TRUE(gone_from_host(word));
}

TEST_P(ProgramOutcome, AChildThatOutlivesTheProgramEndsWithIt) {
  const std::string word = unique_word();
  // It keeps the streams open, so a run that waited for their end would last.
  const Collected ran = run(shell("sleep " + word + " & exit 7"));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 7);
  EXPECT_LT(ran.took.count(), 10'000) << ran.story();
  EXPECT_TRUE(gone_from_host(word));
}

TEST_P(ProgramOutcome, ADaemonThatLeftItsSessionAndIgnoresSignalsEndsWithTheProgram) {
  const std::string word = unique_word();
  const Collected ran = run(program({"/usr/bin/perl", "-MPOSIX", "-e",
                                     "$SIG{$_} = 'IGNORE' for qw(HUP TERM INT QUIT PIPE);"
                                     "exit 7 if fork; POSIX::setsid(); exit 0 if fork;"
                                     "close $_ for (*STDIN, *STDOUT, *STDERR);"
                                     "exec 'sleep', '" +
                                         word + "'"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 7) << ran.story();
  EXPECT_TRUE(gone_from_host(word));
}

TEST_P(ProgramOutcome, ManyRunsLeaveTheCallerItsDescriptors) {
  const auto open_descriptors = [] {
    std::size_t count = 0;
    for (int fd = 0; fd < 256; ++fd) count += ::fcntl(fd, F_GETFD) >= 0 ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(run(program({"/bin/true"})).ran());
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(run(program({"/bin/true"})).ran());
  EXPECT_FALSE(run(program({"/no-such-program"})).ran());
  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(ProgramOutcome, MetricsAreCounted) {
  const Collected ran = run(program({"/usr/bin/perl", "-e", "$x += $_ for 1..2000000; print $x"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  const Outcome& outcome = ran.outcome();
  EXPECT_EQ(ran.out, "2000001000000");
  EXPECT_EQ(outcome.output_bytes, 13u);
  EXPECT_GT(outcome.setup.count(), 0);
  EXPECT_GT(outcome.usage.cpu.count(), 1000);
  EXPECT_GE(outcome.wall.count(), 1000);
  EXPECT_LE(outcome.wall + outcome.setup, ran.took + std::chrono::milliseconds(1));
  ASSERT_TRUE(outcome.usage.peak_memory_bytes);
  EXPECT_GT(*outcome.usage.peak_memory_bytes, 100'000u);
}

INSTANTIATE_TEST_SUITE_P(EveryEngine, ProgramOutcome, ::testing::ValuesIn(every_engine()),
                         engine_of);

}  // namespace
}  // namespace glovebox::contract
