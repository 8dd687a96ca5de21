// The statuses and codes of refused runs and sandboxes.
#include "routing/refusals.h"

#include <gtest/gtest.h>

#include "node/links/launcher_error.h"

namespace glovebox::routing {
namespace {

std::string answer_to(const Error& error) {
  const http::Response response = refuse_run(error);
  return std::to_string(response.status) + " " + response.problem->code + " " +
         std::string(response.headers.get("Retry-After"));
}

TEST(Refusals, TheCodeOfALauncherThatIsDownComesFromTheErrorAndNotFromItsWords) {
  EXPECT_EQ(answer_to(node::launcher_error("it does not answer")), "503 launcher_restarting 1");
  EXPECT_EQ(answer_to(Error(Errc::kUnavailable, "the guest says: launcher")), "503 unavailable 1");
}

TEST(Refusals, ContextDoesNotChangeTheCode) {
  EXPECT_EQ(answer_to(node::launcher_error("gone").context("create a session")),
            "503 launcher_restarting 1");
}

TEST(Refusals, TheErrnoAloneDoesNotMakeItTheLauncher) {
  EXPECT_EQ(answer_to(Error(Errc::kPolicy, "no", node::kLauncherDown)), "403 policy ");
}

}  // namespace
}  // namespace glovebox::routing
