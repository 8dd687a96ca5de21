#include "dialects/sessions_api/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::sessions_api {
namespace {

using std::chrono::seconds;
using ::testing::HasSubstr;

TEST(ApiSession, AnAgentFindsOnlyAPersistentSessionAgain) {
  const auto kept = parse_session(R"({"mode":"persistent","agent_id":"a"})");
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->agent_id, "a");
  const auto once = parse_session(R"({"agent_id":"a"})");
  ASSERT_TRUE(once);
  EXPECT_TRUE(once->agent_id.empty());
  EXPECT_FALSE(parse_session(R"({"mode":"persistent","agent_id":"mcp:a"})"));

  store::SessionRecord record{.id = SandboxId::make()};
  EXPECT_EQ(mode_of(record), Mode::kPersistent);  // created by another API
  record.metadata = once->metadata;
  EXPECT_EQ(mode_of(record), Mode::kEphemeral);
  EXPECT_EQ(agent_of(record), "a");
  record.metadata = kept->metadata;
  record.agent_id = kept->agent_id;
  EXPECT_EQ(mode_of(record), Mode::kPersistent);
  EXPECT_EQ(agent_of(record), "a");
}

TEST(ApiSession, ReadsResourcesInBothSpellings) {
  const auto text =
      parse_session(R"({"resources":{"cpu":"0.5","memory":"512Mi","disk":"1Gi"},"timeout":60})");
  ASSERT_TRUE(text) << text.error().message();
  EXPECT_EQ(text->profile.cpu_thousandths, 500u);
  EXPECT_EQ(text->profile.memory_bytes, 512u << 20);
  EXPECT_EQ(text->profile.disk_bytes, 1u << 30);
  EXPECT_EQ(text->ttl_s, 60u);
  const auto numbers =
      parse_session(R"({"resources":{"cpu":2,"memory_mb":64,"disk_mb":8,"pids":10}})");
  ASSERT_TRUE(numbers) << numbers.error().message();
  EXPECT_EQ(numbers->profile.cpu_thousandths, 2000u);
  EXPECT_EQ(numbers->profile.memory_bytes, 64u << 20);
  EXPECT_EQ(numbers->profile.pids, 10u);
  EXPECT_TRUE(parse_session(""));
}

TEST(ApiSession, RefusesMalformedBodies) {
  for (const char* body :
       {"[]", R"({"mode":"x"})", R"({"agent_id":""})", R"({"agent_id":"\u0000"})",
        R"({"resources":{"memory":"1M"}})", R"({"resources":{"memory":"x"}})",
        R"({"resources":{"cpu":"1x"}})", R"({"resources":{"cpu":0}})", R"({"resources":{"gpu":1}})",
        R"({"template":"/etc"})", R"({"template":"a","template_id":"b"})", R"({"timeout":0})",
        R"({"env_vars":{"A=B":"x"}})", R"({"x":1})"}) {
    EXPECT_FALSE(parse_session(body)) << body;
  }
}

TEST(ApiExecute, TakesItsTimeoutFromTheBodyOrTheEvent) {
  EXPECT_EQ(parse_execute(R"({"code":"x"})")->timeout, seconds(300));
  EXPECT_EQ(parse_execute(R"({"code":"x","timeout":5})")->timeout, seconds(5));
  EXPECT_EQ(parse_execute(R"({"code":"x","timeout":5,"event":{"__timeout":9}})")->timeout,
            seconds(9));
  EXPECT_EQ(parse_execute(R"({"code":"x","event":{"__timeout":3600.0}})")->timeout, seconds(3600));
  for (const char* wrong : {"0", "-1", "3601", "1.5", "\"5\"", "null", "true", "[]", "1e300"}) {
    const std::string body = R"({"code":"x","event":{"__timeout":)" + std::string(wrong) + "}}";
    const auto parsed = parse_execute(body);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message(), HasSubstr("__timeout"));
  }
  for (const char* body : {"", "{}", R"({"code":""})", R"({"code":"x","language":"node"})",
                           R"({"code":"x","timeout":3601})", R"({"code":"x","x":1})"}) {
    EXPECT_FALSE(parse_execute(body)) << body;
  }
}

TEST(ApiExecute, CodeAndEventAreEscapedAsLiterals) {
  ExecuteRequest request;
  request.code = "a\"b\\c\n'''\xe2\x80\xa8";
  request.event = R"({"k":"\"); import os #"})";
  const HandlerContext about{.execution_id = "rn1", .session_id = "sb1"};
  const std::string cell = handler_cell(request, about);
  EXPECT_THAT(cell, HasSubstr("\"a\\\"b\\\\c\\n'''\xe2\x80\xa8\""));
  EXPECT_THAT(cell, HasSubstr(R"("{\"k\":\"\\\"); import os #\"}")"));
  // All of it is on the last line.
  EXPECT_EQ(cell.find("__glovebox_handle(globals()"), cell.rfind('\n', cell.size() - 2) + 1);
}

}  // namespace
}  // namespace glovebox::sessions_api
