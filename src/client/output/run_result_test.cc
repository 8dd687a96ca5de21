#include "client/output/run_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

boost::json::object object(const char* text) { return boost::json::parse(text).as_object(); }

TEST(RunResult, ExitStatusIsTheProgramsOr125) {
  EXPECT_EQ(exit_status_of(object(R"({"exit_code":3})")), 3);
  EXPECT_EQ(exit_status_of(object("{}")), 125);
  EXPECT_EQ(exit_status_of(object(R"({"exit_code":"3"})")), 125);
}

TEST(RunResult, LimitNotesAreThoseOfALocalRun) {
  EXPECT_EQ(limit_notes(object(R"({"timed_out":false,"oom_killed":false,"truncated":false})")), "");
  EXPECT_EQ(limit_notes(object(R"({"timed_out":true,"oom_killed":true})")),
            "glovebox: the time limit was reached\n");
  EXPECT_EQ(
      limit_notes(object(R"({"oom_killed":true,"truncated":true})")),
      "glovebox: the memory limit was reached\nglovebox: output past the limit was dropped\n");
}

TEST(RunResult, JsonHasReadableNumbersAndNoFiles) {
  EXPECT_EQ(run_result_json(object(R"({"exit_code":0,"files":[{"path":"/a"}],"result":{"a":1.5},)"
                                   R"("metrics":{"wall_ms":1.234,"cpu_ms":0.5,"peak":null}})")),
            "{\"exit_code\":0,\"result\":{\"a\":1.5},"
            "\"metrics\":{\"wall_ms\":1.234,\"cpu_ms\":0.500,\"peak\":null}}\n");
}

TEST(RunResult, AFailureHasTheServersCode) {
  const auto failure = object(
      run_failure_json("host_full", Error(Errc::kResourceExhausted, "no sandbox is free")).c_str());
  EXPECT_EQ(failure.at("exit_code").as_int64(), 125);
  EXPECT_EQ(failure.at("error").at("code").as_string(), "host_full");
  EXPECT_EQ(failure.at("error").at("message").as_string(), "no sandbox is free");
}

}  // namespace
}  // namespace glovebox::client
