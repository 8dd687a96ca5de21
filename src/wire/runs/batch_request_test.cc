#include "wire/runs/batch_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

std::string refusal(std::string_view body) {
  const auto parsed = parse_batch_request(body);
  return parsed ? "" : parsed.error().message();
}

TEST(BatchRequest, HasARunAndItsInputs) {
  const auto request = parse_batch_request(
      R"({"language":"python","code":"1","env":{"A":"b"},"parallel":7,"profile":{"reuse":"sandbox"},
          "inputs":[{"args":["1","2"]},{"stdin":"x"},{"stdin_base64":"eQ=="},{}]})");
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->run.code, "1");
  EXPECT_EQ(request->run.profile.reuse, ReuseMode::kSandbox);
  EXPECT_THAT(request->run.env, ElementsAre("A=b"));
  EXPECT_EQ(request->parallel, 7u);
  ASSERT_EQ(request->inputs.size(), 4u);
  EXPECT_THAT(request->inputs[0].args, ElementsAre("1", "2"));
  EXPECT_EQ(request->inputs[1].stdin_bytes, "x");
  EXPECT_EQ(request->inputs[2].stdin_bytes, "y");
  EXPECT_EQ(request->inputs[3], BatchInput{});
}

TEST(BatchRequest, NamesTheFieldThatIsWrong) {
  EXPECT_THAT(refusal(R"({"command":"true"})"), StartsWith("inputs: "));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[]})"), StartsWith("inputs: "));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[{},1]})"), StartsWith("inputs[1]"));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[{"x":1}]})"), StartsWith("inputs[0].x"));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[{"args":["a"]}]})"),
              StartsWith("inputs[0].args: "));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[{"stdin":"","stdin_base64":""}]})"),
              StartsWith("inputs[0].stdin_base64: "));
  EXPECT_THAT(refusal(R"({"command":"true","inputs":[{}],"parallel":65})"),
              StartsWith("parallel: "));
  EXPECT_THAT(refusal(R"({"language":"python","code":"1","args":["a"],"inputs":[{}]})"),
              StartsWith("args"));
  EXPECT_THAT(refusal(R"({"command":"true","stdin":"a","inputs":[{}]})"), StartsWith("stdin"));
  const std::string long_one = std::string(130'000, 'x');
  EXPECT_THAT(
      refusal(R"({"language":"python","code":"1","inputs":[{"args":[")" + long_one + R"("]}]})"),
      StartsWith("inputs[0].args: "));
}

}  // namespace
}  // namespace glovebox::wire
