#include "wire/functions/function_request.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

using std::chrono::milliseconds;

std::string refusal_of(const std::string& body) {
  const auto request = parse_function_request(body);
  return request ? "taken" : request.error().message();
}

TEST(FunctionRequest, ReadsACall) {
  const auto request = parse_function_request(R"({
      "runtime": "python3.12", "code": "x", "handler": "app.main", "event": {"k": 1},
      "context": {"function_name": "f"}, "timeout_ms": 1500, "env": {"A": "b"},
      "profile": {"memory_mb": 64}, "files": [{"path": "m.py", "content": "y"}], "cold": true})");
  ASSERT_TRUE(request) << request.error().message();
  EXPECT_EQ(request->run.language, "python");
  EXPECT_EQ(request->call.handler, "app.main");
  EXPECT_EQ(request->call.event, R"({"k":1})");
  EXPECT_EQ(request->run.profile.wall, milliseconds(1500));
  EXPECT_EQ(request->run.profile.memory_bytes, 64u << 20);
  EXPECT_EQ(request->run.env, std::vector<std::string>{"A=b"});
  EXPECT_TRUE(request->run.cold);
  EXPECT_EQ(request->run.files.size(), 1u);
}

TEST(FunctionRequest, KnowsLambdasNamesOfRuntimes) {
  const auto language = [](const std::string& runtime) {
    const auto request = parse_function_request(R"({"code":"x","runtime":")" + runtime + "\"}");
    return request ? request->run.language : "";
  };
  EXPECT_EQ(language("python3.9"), "python");
  EXPECT_EQ(language("nodejs20.x"), "javascript");
  EXPECT_EQ(language("node"), "javascript");
  EXPECT_EQ(language("java21"), "");
  EXPECT_EQ(language("pythonx"), "");
}

TEST(FunctionRequest, HasAFunctionsTimeAndNotARuns) {
  const auto wall = [](const std::string& more) {
    const auto request = parse_function_request(R"({"language":"python","code":"x")" + more + "}");
    return request ? request->run.profile.wall.value_or(milliseconds(0)) : milliseconds(-1);
  };
  EXPECT_EQ(wall(""), milliseconds(300'000));
  EXPECT_EQ(wall(R"(,"event":{"__timeout":7})"), milliseconds(7000));
  EXPECT_EQ(wall(R"(,"event":{"__timeout":7},"timeout_ms":50)"), milliseconds(50));
  EXPECT_EQ(wall(R"(,"timeout_ms":500,"profile":{"timeout_ms":70})"), milliseconds(70));
  EXPECT_EQ(wall(R"(,"profile":{"timeout_ms":3600000})"), milliseconds(3'600'000));
  EXPECT_EQ(wall(R"(,"profile":{"timeout_ms":3600001})"), milliseconds(-1));
}

TEST(FunctionRequest, TellsNullFromNothing) {
  EXPECT_EQ(parse_function_request(R"({"language":"python","code":"x"})")->call.event, "{}");
  EXPECT_EQ(parse_function_request(R"({"language":"python","code":"x","event":null})")->call.event,
            "null");
}

TEST(FunctionRequest, NamesTheFieldThatIsWrong) {
  EXPECT_EQ(refusal_of("{"), refusal_of("{"));
  EXPECT_EQ(refusal_of(R"({"language":"python"})").substr(0, 5), "code:");
  EXPECT_EQ(refusal_of(R"({"code":"x"})").substr(0, 9), "language:");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"shell"})").substr(0, 9), "language:");
  EXPECT_EQ(refusal_of(R"({"code":"x","runtime":"go"})").substr(0, 8), "runtime:");
  EXPECT_EQ(refusal_of(R"({"code":"x","runtime":"node","language":"python"})").substr(0, 8),
            "runtime:");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"python","handler":"../x"})").substr(0, 8),
            "handler:");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"python","event":{"__timeout":0}})").substr(0, 16),
            "event.__timeout:");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"python","timeout_ms":3600001})").substr(0, 11),
            "timeout_ms:");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"python","contxt":{}})"),
            "contxt: unknown field; did you mean \"context\"?");
  EXPECT_EQ(refusal_of(R"({"code":"x","language":"python","stdin":"a"})").substr(0, 6), "stdin:");
}

}  // namespace
}  // namespace glovebox::wire
