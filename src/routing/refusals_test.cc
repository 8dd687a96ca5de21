// The statuses and codes of refused runs and sandboxes.
#include "routing/refusals.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "node/links/launcher_error.h"
#include "routing/template_requests.h"

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

TEST(Refusals, AKeysLimitIsTheKeysAndNotTheHosts) {
  const auto answer = [](Errc code, int seconds) {
    const http::Response response = refuse_run(
        store::Refusal{.error = Error(code, "why"), .retry_after = std::chrono::seconds(seconds)});
    return std::to_string(response.status) + " " + response.problem->code + " " +
           std::string(response.headers.get("Retry-After"));
  };
  EXPECT_EQ(answer(Errc::kPolicy, 0), "403 key_limit ");
  EXPECT_EQ(answer(Errc::kResourceExhausted, 7), "429 key_limit 7");
  EXPECT_EQ(answer(Errc::kResourceExhausted, 0), "429 key_limit ") << "0 would mean at once";
}

TEST(Refusals, EachKindOfErrorHasItsStatus) {
  EXPECT_EQ(answer_to(Error(Errc::kInvalidArgument, "")), "400 invalid_argument ");
  EXPECT_EQ(answer_to(Error(Errc::kNotFound, "")), "404 template_not_found ");
  EXPECT_EQ(answer_to(Error(Errc::kUnsupported, "")), "422 unsupported ");
  EXPECT_EQ(answer_to(Error(Errc::kResourceExhausted, "")), "503 host_full 1");
  EXPECT_EQ(answer_to(Error(Errc::kTimeout, "")), "503 host_full 1");
}

TEST(Refusals, PackagesSayWhoseFaultItIs) {
  const auto answer = [](Errc code, int sys_errno = 0) {
    const http::Response response = refuse_packages(Error(code, "why", sys_errno));
    return std::to_string(response.status) + " " + response.problem->code;
  };
  EXPECT_EQ(answer(Errc::kResourceExhausted, ENOSPC), "507 disk_full");
  EXPECT_EQ(answer(Errc::kResourceExhausted, EDQUOT), "507 disk_full");
  EXPECT_NE(answer(Errc::kResourceExhausted), "507 disk_full");
}

TEST(Refusals, OfTemplatesSayWhenToAskAgain) {
  const auto answer = [](const Error& error, int seconds = 0) {
    const http::Response response = refuse_template(error, std::chrono::seconds(seconds));
    return std::to_string(response.status) + " " + response.problem->code + " " +
           std::string(response.headers.get("Retry-After"));
  };
  EXPECT_EQ(answer(Error(Errc::kConflict, "")), "409 template_exists ");
  EXPECT_EQ(answer(Error(Errc::kResourceExhausted, ""), 3), "429 template_limit 3");
  EXPECT_EQ(answer(Error(Errc::kResourceExhausted, "")), "429 template_limit ");
  EXPECT_EQ(answer(Error(Errc::kPolicy, "")), "403 policy ");
}

}  // namespace
}  // namespace glovebox::routing
