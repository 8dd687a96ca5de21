#include "model/program_refusal.h"

#include <gtest/gtest.h>

namespace glovebox {
namespace {

TEST(ProgramRefusal, TellsAMissingProgramFromOneThatCannotBeExecuted) {
  const Error missing = refuse_to_execute("nosuch", ENOENT).value();
  EXPECT_EQ(missing.message(), "program not found: nosuch");
  EXPECT_EQ(program_refusal_in(missing), ProgramRefusal::kNotFound);
  for (const int number : {EACCES, EPERM, ENOEXEC}) {
    const Error refused = refuse_to_execute("/etc/passwd", number).value();
    EXPECT_EQ(refused.message(), "program is not executable: /etc/passwd");
    EXPECT_EQ(program_refusal_in(refused), ProgramRefusal::kNotExecutable);
  }
}

TEST(ProgramRefusal, HasTheExitStatusOfAShell) {
  EXPECT_EQ(exit_status_of_refusal(refusal_code(ProgramRefusal::kNotFound)), 127);
  EXPECT_EQ(exit_status_of_refusal(refusal_code(ProgramRefusal::kNotExecutable)), 126);
  EXPECT_EQ(exit_status_of_refusal("invalid_argument"), std::nullopt);
}

TEST(ProgramRefusal, OtherErrorsAreNone) {
  EXPECT_FALSE(refuse_to_execute("x", ENOMEM));
  EXPECT_FALSE(program_refusal_in(Error(Errc::kInvalidArgument, "argv: missing")));
  EXPECT_FALSE(program_refusal_in(Error(Errc::kNotFound, "open /x", ENOENT)));
}

}  // namespace
}  // namespace glovebox
