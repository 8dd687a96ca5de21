// What a program finds: which user it is, its variables, its descriptors, and no other process.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sstream>
#include <thread>

#include "engine_contract.h"

namespace glovebox::contract {
namespace {

using ::testing::UnorderedElementsAre;

class ProgramEnvironment : public EngineContract {};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream from(text);
  for (std::string line; std::getline(from, line);) lines.push_back(line);
  return lines;
}

TEST_P(ProgramEnvironment, TheEnvironmentIsWhatWasGivenAndNothingElse) {
  ::setenv("GBX_CONTRACT_SECRET", "of the caller", 1);
  engine::RunRequest request = program({"/usr/bin/env"});
  request.exec.env = {"PATH=/usr/bin", "ONE=1", "EMPTY=", "SPACES= a  b "};
  const Collected ran = run(request);
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_THAT(lines_of(ran.out),
              UnorderedElementsAre("PATH=/usr/bin", "ONE=1", "EMPTY=", "SPACES= a  b "));
}

TEST_P(ProgramEnvironment, ArgumentsArriveAsGiven) {
  const Collected ran =
      run(program({"/usr/bin/printf", "<%s>", "", "a b", "$HOME", "*", "-n", "\n", "\xff"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "<><a b><$HOME><*><-n><\n><\xff>");
}

TEST_P(ProgramEnvironment, ItIsNeverTheFirstProcessAndNeverRoot) {
  const Collected ran =
      run(program({"/usr/bin/perl", "-e", "print \"$$ $< $> \", $( + 0, ' ', $) + 0"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  std::istringstream said(ran.out);
  int pid = 0, uid = 0, euid = 0, gid = 0, egid = 0;
  said >> pid >> uid >> euid >> gid >> egid;
  EXPECT_GT(pid, 1) << ran.out;
  EXPECT_GT(uid, 0) << ran.out;
  EXPECT_GT(euid, 0) << ran.out;
  EXPECT_GT(gid, 0) << ran.out;
  EXPECT_GT(egid, 0) << ran.out;
}

TEST_P(ProgramEnvironment, ItCannotBecomeRoot) {
  const Collected ran =
      run(program({"/usr/bin/perl", "-e", "$< = $> = 0; print $> == 0 ? 'root' : 'user'"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "user");
}

TEST_P(ProgramEnvironment, ItHasItsThreeStreamsAndNoOtherDescriptor) {
  // One of ours that would be inherited if it were not closed.
  const UniqueFd leak(::open("/etc/hostname", O_RDONLY));
  const Collected ran = run(program({"/usr/bin/perl", "-MPOSIX", "-e",
                                     "for (0..1023) { my $d = POSIX::dup($_); next unless defined "
                                     "$d; POSIX::close($d); print \"$_ \" }"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  // Perl keeps the program text in memory for -e, so what is left is what it was started with.
  EXPECT_EQ(ran.out, "0 1 2 ");
}

TEST_P(ProgramEnvironment, ItCannotSignalTheCaller) {
  const std::string pid = std::to_string(::getpid());
  const Collected ran = run(shell(
      "kill -0 " + pid + " 2>/dev/null && echo reached; kill -0 1 2>/dev/null && echo first; :"));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "");
}

TEST_P(ProgramEnvironment, ItCannotReachTheHostsLoopback) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener.get(), 1), 0);
  ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const std::string port = std::to_string(ntohs(address.sin_port));
  const Collected ran =
      run(program({"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/" + port + " && echo reached"}));
  ASSERT_TRUE(ran.ran()) << ran.story();
  EXPECT_EQ(ran.out, "");
  EXPECT_NE(ran.outcome().exit_code, 0);
  EXPECT_LT(::accept(listener.get(), nullptr, nullptr), 0);
}

TEST_P(ProgramEnvironment, RunsSideBySideKeepApart) {
  std::vector<Collected> results(4);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < results.size(); ++i) {
    threads.emplace_back([&, i] {
      auto own = engine::make_engine(GetParam());
      if (!own) return;
      const std::string mine = std::to_string(i);
      results[i] =
          contract::run(**own, shell("echo " + mine + " > x; sleep 0.2; cat x; exit " + mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ran()) << results[i].story();
    EXPECT_EQ(results[i].out, std::to_string(i) + "\n");
    EXPECT_EQ(results[i].outcome().exit_code, static_cast<int>(i));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryEngine, ProgramEnvironment, ::testing::ValuesIn(every_engine()),
                         engine_of);

}  // namespace
}  // namespace glovebox::contract
