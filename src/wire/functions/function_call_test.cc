#include "wire/functions/function_call.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

json::object encoded(const FunctionCall& call) {
  return json::parse(encode_call(call, 128).code).as_object();
}

FunctionCall python(const std::string& handler, const std::string& file = "") {
  FunctionCall call;
  call.code = "def handler(event, context): return event";
  EXPECT_TRUE(handler.empty() || take_handler(call, handler, "handler"));
  EXPECT_TRUE(file.empty() || take_file(call, file, "file_name"));
  return call;
}

TEST(FunctionCall, NamesTheModuleAfterTheHandlerOrTheFile) {
  json::object call_json = encoded(python("", "my-app.py"));
  EXPECT_EQ(call_json["module"], "my-app");
  EXPECT_EQ(call_json["function"], "handler");
  EXPECT_EQ(call_json["file"], "my-app.py");
  call_json = encoded(python("lambda_function.lambda_handler"));
  EXPECT_EQ(call_json["module"], "lambda_function");
  EXPECT_EQ(call_json["function"], "lambda_handler");
  EXPECT_EQ(call_json["file"], "lambda_function.py");
  call_json = encoded(python("src/app.main"));
  EXPECT_EQ(call_json["module"], "src.app");
  EXPECT_EQ(call_json["file"], "src/app.py");
}

TEST(FunctionCall, SplitsANodeHandlerAtItsFirstDot) {
  FunctionCall call;
  call.language = FunctionLanguage::kNode;
  ASSERT_TRUE(take_handler(call, "index.api.get", "handler"));
  ASSERT_TRUE(take_file(call, "x.mjs", "file_name"));
  json::object call_json = encoded(call);
  EXPECT_EQ(call_json["module"], "index");
  EXPECT_EQ(call_json["function"], "api.get");
  EXPECT_EQ(call_json["file"], "index.mjs");
}

TEST(FunctionCall, RefusesNamesThatLeaveTheirDirectory) {
  FunctionCall call;
  for (const char* name : {"", ".", "..", "a..b", "../x.h", "/etc/x.h", "a/.b", "a.", "a b", "x.9",
                           "x;y", "a\n.b", "a.b-c"}) {
    const auto taken = take_handler(call, name, "handler");
    ASSERT_FALSE(taken) << name;
    EXPECT_EQ(taken.error().message().substr(0, 9), "handler: ");
  }
  for (const char* name : {"", "app", "../a.py", "/a.py", "a//b.py", "a/../b.py", "a b.py"}) {
    EXPECT_FALSE(take_file(call, name, "file_name")) << name;
  }
}

TEST(FunctionCall, ANameHasLettersAndDigitsOfAscii) {
  FunctionCall call;
  EXPECT_TRUE(take_handler(call, "azAZ_09.azAZ_09", "handler"));
  for (const char* name : {"a`.b", "a{.b", "a@.b", "a[.b", "a:.b", "a\xc3\xa4.b"}) {
    EXPECT_FALSE(take_handler(call, name, "handler")) << name;
  }
  EXPECT_TRUE(take_handler(call, std::string(254, 'a') + ".b", "handler"));
  EXPECT_FALSE(take_handler(call, std::string(255, 'a') + ".b", "handler"));
}

TEST(FunctionCall, AnEventHasAtMost6MillionBytes) {
  FunctionCall call;
  const auto taken = [&](std::size_t bytes) {  // with its quotes
    return take_event(call, json::value(std::string(bytes - 2, 'x')), "event").has_value();
  };
  EXPECT_TRUE(taken(kMaxEventBytes));
  EXPECT_FALSE(taken(kMaxEventBytes + 1));
}

TEST(FunctionCall, AContextHasAtMost64Kilobytes) {
  const auto taken = [&](std::size_t bytes) {
    const std::size_t around = json::serialize(json::object{{"a", ""}}).size();
    const json::object context{{"a", std::string(bytes - around, 'x')}};
    FunctionCall call = python("app.main");
    return take_context(call, json::value(context), "context").has_value();
  };
  EXPECT_TRUE(taken(65'536));
  EXPECT_FALSE(taken(65'537));
}

TEST(FunctionCall, TheShortestAndTheLongestTimeAreTimes) {
  for (const auto& [text, ms] : {std::pair("0.001", 1), std::pair("3600", 3'600'000)}) {
    FunctionCall call;
    ASSERT_TRUE(
        take_event(call, json::parse(std::string("{\"__timeout\":") + text + "}"), "event"));
    EXPECT_EQ(time_of(call), milliseconds(ms));
  }
  FunctionCall call;
  EXPECT_FALSE(take_event(call, json::parse(R"({"__timeout":0.0009})"), "event"));
}

TEST(FunctionCall, TakesTheTimeOutOfTheEvent) {
  FunctionCall call;
  ASSERT_TRUE(take_event(call, json::parse(R"({"a":1,"__timeout":2.5})"), "event"));
  EXPECT_EQ(call.event, R"({"a":1})");
  EXPECT_EQ(time_of(call), milliseconds(2500));
  EXPECT_EQ(encoded(call)["timeout_ms"], 2500);
  // The other keys stay in their order.
  ASSERT_TRUE(take_event(call, json::parse(R"({"__timeout":2.5,"c":1,"a":2,"b":3})"), "event"));
  EXPECT_EQ(call.event, R"({"c":1,"a":2,"b":3})");
  call.asked_time = milliseconds(100);
  EXPECT_EQ(time_of(call), milliseconds(100));
  call.asked_time = milliseconds(9000);
  EXPECT_EQ(time_of(call), milliseconds(2500));
}

TEST(FunctionCall, HasFiveMinutesByDefault) {
  FunctionCall call;
  ASSERT_TRUE(take_event(call, json::parse("[1]"), "event"));
  EXPECT_EQ(time_of(call), milliseconds(300'000));
}

TEST(FunctionCall, RefusesATimeThatIsNone) {
  for (const char* time : {"0", "-1", "3600.001", "\"5\"", "true", "null", "[]", "1e300"}) {
    FunctionCall call;
    const auto taken =
        take_event(call, json::parse(std::string("{\"__timeout\":") + time + "}"), "event");
    ASSERT_FALSE(taken) << time;
    EXPECT_NE(taken.error().message().find("event.__timeout"), std::string::npos);
  }
}

TEST(FunctionCall, MakesTheContextWhole) {
  FunctionCall call = python("app.main");
  ASSERT_TRUE(take_context(
      call, json::parse(R"({"awsRequestId":"r-1","stage":"test","identity":null})"), "context"));
  json::object call_json = encoded(call);
  json::object& context = call_json["context"].as_object();
  EXPECT_EQ(context["aws_request_id"], "r-1");
  EXPECT_EQ(context["stage"], "test");
  EXPECT_EQ(context["function_name"], "app");
  EXPECT_EQ(context["function_version"], "$LATEST");
  EXPECT_EQ(context["memory_limit_in_mb"], 128);
  EXPECT_EQ(context["log_group_name"], "/aws/lambda/app");
  EXPECT_EQ(encode_call(call, 1).about.request_id, "r-1");
}

TEST(FunctionCall, GivesEachCallARequestIdOfItsOwn) {
  const FunctionCall call = python("");
  const std::string one = encode_call(call, 1).about.request_id;
  EXPECT_EQ(one.size(), 36u);
  EXPECT_EQ(one[14], '4');
  EXPECT_NE(one, encode_call(call, 1).about.request_id);
}

TEST(FunctionCall, RefusesAContextThatIsNone) {
  FunctionCall call;
  for (const char* text :
       {"[]", "1", R"({"function_name":1})", R"({"identity":"me"})", R"({"_private":1})",
        R"({"a.b":1})", R"({"":1})", R"({"aws_request_id":"a","awsRequestId":"b"})",
        R"({"get_remaining_time_in_millis":5})"}) {
    EXPECT_FALSE(take_context(call, json::parse(text), "context")) << text;
  }
}

TEST(FunctionCall, TakesAContextThatIsDeep) {
  std::string deep = "{\"a\":" + std::string(60, '[') + std::string(60, ']') + "}";
  json::parse_options options;
  options.max_depth = 100;
  FunctionCall call = python("");
  ASSERT_TRUE(take_context(call, json::parse(deep, {}, options), "context"));
  EXPECT_NE(encode_call(call, 1).code.find(std::string(60, '[')), std::string::npos);
}

TEST(FunctionCall, CallsThatShareAnInterpreterHaveTheCodeInCommon) {
  FunctionCall one = python("app.main");
  one.event = R"({"n":1})";
  one.context = R"({"aws_request_id":"r-1"})";
  FunctionCall other = one;
  other.event = R"({"n":2})";
  other.context = "{}";
  other.asked_time = milliseconds(5000);
  const SharedCall first = encode_shared_call(one, 128);
  const SharedCall second = encode_shared_call(other, 128);
  EXPECT_EQ(first.code, second.code);
  json::object code = json::parse(first.code).as_object();
  EXPECT_EQ(code["code"].as_string(), one.code);
  EXPECT_EQ(code["module"], "app");
  EXPECT_EQ(code["function"], "main");
  EXPECT_FALSE(code.contains("event") || code.contains("context") || code.contains("timeout_ms"));
  json::object input = json::parse(first.input).as_object();
  EXPECT_EQ(input["event"], json::parse(R"({"n":1})"));
  EXPECT_EQ(input["context"].at("aws_request_id"), "r-1");
  EXPECT_EQ(first.about.request_id, "r-1");
  EXPECT_EQ(json::parse(second.input).at("timeout_ms"), 5000);
}

}  // namespace
}  // namespace glovebox::wire
