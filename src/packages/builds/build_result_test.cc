// result.json comes from a sandbox: it is parsed strictly or refused.
#include "packages/builds/build_result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::packages {
namespace {

using State = BuildResult::State;
using testing::HasSubstr;

const std::string kSha(64, 'a');

std::string artefact(const std::string& name, const std::string& sha = kSha) {
  return R"({"name":")" + name + R"(","version":"1.0","file":"x.whl","sha256":")" + sha + R"("})";
}
std::string ready(const std::string& list) {
  return R"({"state":"ready","interpreter":"cpython-3.11","artefacts":[)" + list + "]}";
}

TEST(BuildResultTest, SortsTheArtefactsOfAReadyResult) {
  const auto result = parse_build_result(ready(artefact("b") + "," + artefact("a")));
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->state, State::kReady);
  EXPECT_EQ(result->interpreter, "cpython-3.11");
  ASSERT_EQ(result->artefacts.size(), 2u);
  EXPECT_EQ(result->artefacts[0].name, "a");
  EXPECT_EQ(result->artefacts[1].name, "b");
  EXPECT_EQ(result->artefacts[1].sha256, kSha);
}

TEST(BuildResultTest, LimitsTheMessageOfAFailure) {
  const auto result =
      parse_build_result(R"({"state":"failed","error":")" + std::string(100'000, 'x') + R"("})");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->state, State::kFailed);
  EXPECT_EQ(result->error.size(), kMaxInstallerWords);
}

TEST(BuildResultTest, ReadsTheSourceToBuild) {
  const auto result = parse_build_result(R"({"state":"source","source":)" + artefact("old") + "}");
  ASSERT_TRUE(result.has_value()) << result.error().message();
  EXPECT_EQ(result->state, State::kSource);
  EXPECT_EQ(result->source->name, "old");
}

TEST(BuildResultTest, AcceptsNpmHashes) {
  EXPECT_TRUE(parse_build_result(ready(artefact("@a/b", "sha512-abc/+="))).has_value());
  EXPECT_TRUE(parse_build_result(ready(artefact("a/node_modules/b", "sha1-abc="))).has_value());
}

class HostileResult : public testing::TestWithParam<std::string> {};
TEST_P(HostileResult, IsRefused) {
  const auto result = parse_build_result(GetParam());
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Errc::kInvalidArgument);
}

std::string many_artefacts() {
  std::string list = artefact("a");
  for (int i = 1; i < 10'000; ++i) list += "," + artefact("a");
  return ready(list);
}
std::string deep() { return std::string(100'000, '[') + std::string(100'000, ']'); }

INSTANTIATE_TEST_SUITE_P(
    All, HostileResult,
    testing::Values(
        "", "nonsense", "null", "[]", "{}", R"({"state":1})", R"({"state":"great"})",
        R"({"state":"ready","state":"failed"})", R"({"state":"ready"} {})",
        R"({"state":"ready","artefacts":{}})", R"({"state":"ready","artefacts":[1]})",
        R"({"state":"ready","interpreter":"a\u0000b"})", R"({"state":"ready","interpreter":[]})",
        R"({"state":"ready","interpreter":"../../x"})", R"({"state":"ready","file":{}})",
        R"({"state":"source"})", R"({"state":"source","source":null})",
        R"({"state":"source","source":"x"})", R"({"state":"failed","error":{}})",
        ready(R"({"name":"a","version":"1","file":"f"})"), ready(artefact("")),
        ready(artefact("a\\u001b[31m")), ready(artefact("a\\nb")), ready(artefact("a\\u009b")),
        ready(artefact("a\\u202eb")), ready(artefact("a ")), ready(artefact("\xff\xfe")),
        ready(artefact(std::string(301, 'x'))), ready(artefact("a", "zz")),
        ready(artefact("a", std::string(64, 'A'))), ready(artefact("a", "sha512-")),
        ready(artefact("a", "sha512-<script>")), ready(artefact("a", "md5-abc")), deep(),
        many_artefacts(), R"({"state":"failed","error":")" + std::string(3u << 20, 'x') + R"("})"));

TEST(BuildResultTest, RefusesTooManyArtefacts) {
  std::string list = artefact("a");
  for (std::size_t i = 0; i < kMaxArtefacts; ++i) list += "," + artefact("a");
  EXPECT_THAT(parse_build_result(ready(list)).error().message(), HasSubstr("2000 packages"));
}

TEST(WheelName, MatchesAfterNormalisation) {
  EXPECT_TRUE(is_wheel_of("Old_Thing-1.0-py3-none-any.whl", "old.thing"));
  EXPECT_TRUE(is_wheel_of("old_thing-1.0-1-cp311-cp311-linux_x86_64.whl", "Old-Thing"));
  EXPECT_TRUE(is_wheel_of("x-1.0+local.1-py3-none-any.whl", "x"));
}

TEST(WheelName, RejectsOtherPackagesAndInvalidNames) {
  EXPECT_FALSE(is_wheel_of("requests-1-py3-none-any.whl", "evil"));
  EXPECT_FALSE(is_wheel_of("../evil-1-py3-none-any.whl", "evil"));
  EXPECT_FALSE(is_wheel_of("evil/evil-1-py3-none-any.whl", "evil"));
  EXPECT_FALSE(is_wheel_of("evil-1-py3-none-any.whl\n", "evil"));
  EXPECT_FALSE(is_wheel_of(".evil-1-py3-none-any.whl", ".evil"));
  EXPECT_FALSE(is_wheel_of("evil-1.whl", "evil"));
  EXPECT_FALSE(is_wheel_of("evil-1-py3-none-any.tar.gz", "evil"));
  EXPECT_FALSE(is_wheel_of("", ""));
  EXPECT_FALSE(is_wheel_of("-1-py3-none-any.whl", ""));
  EXPECT_FALSE(is_wheel_of(std::string(400, 'e') + "-1-py3-none-any.whl", "e"));
}

}  // namespace
}  // namespace glovebox::packages
