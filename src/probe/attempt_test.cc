#include "probe/attempt.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace glovebox::probe {
namespace {

using std::chrono::milliseconds;

TEST(Attempt, BringsBackWhatTheHelperFound) {
  const Attempt attempt = attempt_in_helper([] {
    Attempt found = Attempt::worked(42);
    found.note = "a few words";
    return found;
  });
  EXPECT_TRUE(attempt.ok());
  EXPECT_EQ(attempt.value, 42);
  EXPECT_EQ(attempt.note, "a few words");
  EXPECT_EQ(attempt.why(), "");
}

TEST(Attempt, NamesTheStepThatFailed) {
  const Attempt attempt = attempt_in_helper([] { return Attempt::failed("mount overlay", EPERM); });
  EXPECT_FALSE(attempt.ok());
  EXPECT_EQ(attempt.error, EPERM);
  EXPECT_EQ(attempt.why(), "mount overlay: Operation not permitted");
}

TEST(Attempt, AFailureWithoutAnErrnoIsStillAFailure) {
  EXPECT_FALSE(Attempt::failed("odd", 0).ok());
  EXPECT_EQ(Attempt::failed("odd", 0).why(), "odd");
}

TEST(Attempt, AKilledHelperIsAFailureThatNamesTheSignal) {
  const Attempt attempt = attempt_in_helper([]() -> Attempt {
    ::kill(::getpid(), SIGKILL);
    return Attempt::worked();
  });
  EXPECT_EQ(attempt.why(), "the helper was killed by SIGKILL");
}

TEST(Attempt, AHangingHelperIsEndedAtTheDeadline) {
  const Attempt attempt = attempt_in_helper(
      []() -> Attempt {
        while (true) ::pause();
      },
      milliseconds(50));
  EXPECT_EQ(attempt.why(), "no answer within 50 ms");
  // Nothing of it is left to reap.
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST(Attempt, ALongStoryIsCutAndNotLost) {
  const Attempt attempt =
      attempt_in_helper([] { return Attempt::failed(std::string(100'000, 'x'), -1); });
  EXPECT_FALSE(attempt.ok());
  EXPECT_EQ(attempt.step, std::string(1024, 'x'));
}

TEST(Attempt, AnOrphanOfAHelperDiesWithIt) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueFd read_end(ends[0]);
  UniqueFd write_end(ends[1]);
  const Attempt attempt = attempt_in_helper([] {
    if (fork_into(0) == 0) {
      while (true) ::pause();
    }
    return Attempt::worked();
  });
  EXPECT_TRUE(attempt.ok());
  write_end.reset();
  // End of file comes when the last holder of the other end, the orphan, is gone.
  char byte = 0;
  EXPECT_EQ(::read(read_end.get(), &byte, 1), 0);
}

TEST(ParkedChild, IsGoneAfterItsOwner) {
  {
    const Result<ParkedChild> child = ParkedChild::start(0);
    ASSERT_TRUE(child);
    EXPECT_TRUE(child->open_namespace("user"));
    EXPECT_FALSE(child->open_namespace("no-such-namespace"));
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
}

}  // namespace
}  // namespace glovebox::probe
