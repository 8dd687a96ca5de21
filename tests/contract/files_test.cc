// Files go in before the program and come out after it, through our program inside; what a guest
// leaves in their place cannot hang the caller nor make it read anything else.
#include <sys/stat.h>

#include "engine_contract.h"

namespace glovebox::contract {
namespace {

using ::testing::HasSubstr;

class ProgramFiles : public EngineContract {
 protected:
  FileIn content(const std::string& guest, const std::string& bytes) {
    return {.host = "", .guest = GuestPath::parse(guest).value(), .content = bytes};
  }
  FileIn from_host(const std::string& host, const std::string& guest) {
    return {.host = host, .guest = GuestPath::parse(guest).value(), .content = std::nullopt};
  }
  FileOut to_host(const std::string& guest) {
    return {GuestPath::parse(guest).value(), dir_ / "out"};
  }
  // The names in the host's directory, so that a draft left behind is seen.
  std::size_t files_on_host() {
    std::size_t count = 0;
    for (const char* name : {"out"}) count += exists(dir_ / name) ? 1 : 0;
    return count;
  }
  TempDir dir_;
};

TEST_P(ProgramFiles, GivenBytesAreThereUnchanged) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes.push_back(static_cast<char>(i * 31));
  engine::RunRequest request = shell("exec cat given");
  request.files_in.push_back(content("given", bytes));
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.result.error().message();
  EXPECT_TRUE(ran.out == bytes) << ran.out.size();
}

TEST_P(ProgramFiles, AnEmptyFileIsThere) {
  engine::RunRequest request = shell("test -f empty && ! test -s empty");
  request.files_in.push_back(content("empty", ""));
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 0);
}

TEST_P(ProgramFiles, ParentsAreMadeAndTheExecutableBitIsKept) {
  write_file(dir_ / "tool", "#!/bin/sh\necho tool ran\n", 0755);
  write_file(dir_ / "data", "plain", 0600);
  engine::RunRequest request =
      shell("a/b/tool; test -x a/b/tool && ! test -x a/c/data && cat a/c/data");
  request.files_in.push_back(from_host(dir_ / "tool", "a/b/tool"));
  request.files_in.push_back(from_host(dir_ / "data", "a/c/data"));
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "tool ran\nplain") << ran.story();
}

TEST_P(ProgramFiles, AFileThatIsNotThereIsAnErrorThatNamesIt) {
  engine::RunRequest request = shell("echo ran");
  request.files_in.push_back(from_host(dir_ / "missing", "x"));
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr(dir_ / "missing"));
  EXPECT_EQ(ran.out, "");
}

TEST_P(ProgramFiles, AFileThatCannotBePutStopsTheStart) {
  engine::RunRequest request = shell("echo ran");
  request.files_in.push_back(content("/usr/bin/evil", "x"));
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr("/usr/bin/evil"));
  EXPECT_EQ(ran.out, "");
  EXPECT_FALSE(exists("/usr/bin/evil"));
}

TEST_P(ProgramFiles, AFileComesOutUnchanged) {
  engine::RunRequest request = program(
      {"/usr/bin/perl", "-e", "open F, '>', 'made'; print F chr($_ & 255) for 1..200000; exit 3"});
  request.files_out.push_back(to_host("made"));
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.outcome().exit_code, 3);
  std::string expected;
  for (int i = 1; i <= 200'000; ++i) expected.push_back(static_cast<char>(i & 255));
  EXPECT_TRUE(read_file(dir_ / "out") == expected);
}

TEST_P(ProgramFiles, AFileThatTheProgramDidNotMakeIsAnErrorAndTouchesNothing) {
  write_file(dir_ / "out", "before", 0644);
  engine::RunRequest request = program({"/bin/true"});
  request.files_out.push_back(to_host("never-made"));
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_THAT(ran.result.error().message(), HasSubstr("never-made"));
  EXPECT_EQ(read_file(dir_ / "out"), "before");
}

// What a guest may leave where a file is expected.
struct Trap {
  const char* name;
  const char* script;
};
constexpr Trap kTraps[] = {
    {"a fifo", "mkfifo trap"},
    {"a directory", "mkdir trap"},
    {"a link to the agent's memory", "ln -s /proc/self/mem trap"},
    {"a link to the agent's environment", "ln -s /proc/self/environ trap"},
    {"a link to the agent's arguments", "ln -s /proc/self/cmdline trap"},
    {"a link to the agent's descriptor", "ln -s /proc/self/fd/0 trap"},
    {"a link to the first process's root", "ln -s /proc/1/root/etc/passwd trap"},
    {"a link to a device without end", "ln -s /dev/zero trap"},
    {"a link to the terminal", "ln -s /dev/tty trap"},
    {"a link to itself", "ln -s trap trap"},
    {"a link to nothing", "ln -s nothing trap"},
    {"a socket",
     "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"trap\"))'"},
};

TEST_P(ProgramFiles, WhatIsNoPlainFileDoesNotComeOut) {
  for (const Trap& trap : kTraps) {
    engine::RunRequest request = shell(trap.script);
    request.sandbox.limits.wall = std::chrono::seconds(10);
    request.files_out.push_back(to_host("trap"));
    const Collected ran = run(request);
    EXPECT_FALSE(ran.ran()) << trap.name << ": " << ran.story();
    EXPECT_LT(ran.took.count(), 8'000) << trap.name;
    EXPECT_EQ(files_on_host(), 0u) << trap.name << ": " << read_file(dir_ / "out").substr(0, 100);
  }
}

TEST_P(ProgramFiles, AFileOnlyTheAgentMayReadDoesNotComeOut) {
  engine::RunRequest request = shell("umask 777; echo secret > mine");
  request.files_out.push_back(to_host("mine"));
  const Collected ran = run(request);
  EXPECT_FALSE(ran.ran()) << ran.story();
  EXPECT_FALSE(exists(dir_ / "out"));
}

TEST_P(ProgramFiles, AMountIsReadableAndReadOnlyWhereTheEngineHasThem) {
  if (!features().mounts) GTEST_SKIP() << GetParam() << " says that it has no mounts";
  write_file(dir_ / "shared", "from the host", 0644);
  engine::RunRequest request = shell("cat /mnt/shared; echo x > /mnt/shared || echo refused");
  request.sandbox.mounts.push_back(
      {MountMode::kReadOnly, dir_.path(), GuestPath::parse("/mnt").value()});
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "from the hostrefused\n");
  EXPECT_EQ(read_file(dir_ / "shared"), "from the host");
}

TEST_P(ProgramFiles, AMountIsRefusedWhereTheEngineHasNone) {
  if (features().mounts) GTEST_SKIP() << GetParam() << " has mounts";
  engine::RunRequest request = shell("echo ran");
  request.sandbox.mounts.push_back(
      {MountMode::kReadOnly, dir_.path(), GuestPath::parse("/mnt").value()});
  const Collected ran = run(request);
  ASSERT_FALSE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.result.error().code(), Errc::kUnsupported);
}

TEST_P(ProgramFiles, NothingOfOneRunIsThereInTheNext) {
  ASSERT_TRUE(run(shell("echo secret > left; echo secret > /tmp/left; :")).ran());
  const Collected next = run(shell("cat left /tmp/left 2>/dev/null; ls"));
  ASSERT_TRUE(next.ran()) << next.story();
  EXPECT_EQ(next.out, "");
}

INSTANTIATE_TEST_SUITE_P(EveryEngine, ProgramFiles, ::testing::ValuesIn(every_engine()), engine_of);

}  // namespace
}  // namespace glovebox::contract
