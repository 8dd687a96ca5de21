#include "routing/sandbox_access.h"

#include <gtest/gtest.h>

#include "routing/testing/paused_sandbox.h"

namespace glovebox::routing {
namespace {

using Rights = SandboxAccess::Rights;
using Verdict = SandboxAccess::Verdict;

SandboxAccess::Admission admit(PausedSandbox& sandbox, const std::string& id, Rights rights) {
  return sandbox.wait_for(
      sandbox.access.admit(id, [rights](const std::string&) { return rights; }));
}

TEST(SandboxAccess, OnlyTheRightToResumeResumesAPausedSandbox) {
  for (const PortVisibility visibility : {PortVisibility::kPublic, PortVisibility::kPrivate}) {
    PausedSandbox sandbox(visibility);
    EXPECT_EQ(admit(sandbox, sandbox.id, Rights::kNone).verdict, Verdict::kNotFound);
    EXPECT_EQ(admit(sandbox, sandbox.id, Rights::kUse).verdict, Verdict::kNotFound);
    EXPECT_EQ(sandbox.times_resumed(), 0u);
    const SandboxAccess::Admission resumed = admit(sandbox, sandbox.id, Rights::kResume);
    EXPECT_EQ(resumed.verdict, Verdict::kAdmitted);
    EXPECT_NE(resumed.session, nullptr);
    EXPECT_EQ(sandbox.times_resumed(), 1u);
    // Now that it runs, the right to use it is enough.
    EXPECT_EQ(admit(sandbox, sandbox.id, Rights::kUse).session, resumed.session);
  }
}

TEST(SandboxAccess, APrivateSandboxThatRunsLooksLikeNoneWithoutRights) {
  PausedSandbox sandbox(PortVisibility::kPrivate);
  ASSERT_EQ(admit(sandbox, sandbox.id, Rights::kResume).verdict, Verdict::kAdmitted);
  const SandboxAccess::Admission running = admit(sandbox, sandbox.id, Rights::kNone);
  const SandboxAccess::Admission unknown = admit(sandbox, "sbnone", Rights::kResume);
  EXPECT_EQ(running.verdict, Verdict::kNotFound);
  EXPECT_EQ(unknown.verdict, Verdict::kNotFound);
  EXPECT_EQ(running.session, nullptr);
}

TEST(SandboxAccess, APublicSandboxThatRunsAsksForTheCredential) {
  PausedSandbox sandbox(PortVisibility::kPublic);
  ASSERT_EQ(admit(sandbox, sandbox.id, Rights::kResume).verdict, Verdict::kAdmitted);
  const SandboxAccess::Admission refused = admit(sandbox, sandbox.id, Rights::kNone);
  EXPECT_EQ(refused.verdict, Verdict::kUnauthorized);
  EXPECT_EQ(refused.session, nullptr);
}

TEST(SandboxAccess, TheRequestIsJudgedByThePortsToken) {
  PausedSandbox sandbox(PortVisibility::kPrivate);
  std::vector<std::string> tokens;
  const SandboxAccess::Authorize note = [&](const std::string& token) {
    tokens.push_back(token);
    return Rights::kNone;
  };
  sandbox.wait_for(sandbox.access.admit(sandbox.id, note));
  sandbox.wait_for(sandbox.access.admit("sbnone", note));
  EXPECT_EQ(tokens, (std::vector<std::string>{sandbox.port_token, ""}));
}

}  // namespace
}  // namespace glovebox::routing
