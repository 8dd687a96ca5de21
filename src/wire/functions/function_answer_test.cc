#include "wire/functions/function_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <csignal>

#include "base/base64.h"
#include "wire/functions/function_view.h"
#include "wire/network/net_refusals.h"

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;

const FunctionCallInfo kAbout{.request_id = "r-1", .timeout = milliseconds(3000)};

std::string value_line(const std::string& text) {
  return R"({"type":"function","value":")" + base64_encode(text) +
         R"(","import_ms":1.5,"handler_ms":0.25})";
}
std::string error_line(const std::string& text) {
  return R"({"type":"function","error":")" + base64_encode(text) + "\"}";
}

RunAnswer answer_with(std::vector<std::string> lines, int exit_code = 0) {
  RunAnswer answer;
  answer.results = std::move(lines);
  answer.outcome.exit_code = exit_code;
  answer.outcome.wall = milliseconds(10);
  return answer;
}

std::string words_of(RunAnswer answer, const FunctionCallInfo& about = kAbout) {
  return function_exit_json(answer, about);
}

json::object told(const RunAnswer& answer) { return json::parse(words_of(answer)).as_object(); }

json::string error_type(const RunAnswer& answer) {
  return told(answer)["error"].as_object()["errorType"].as_string();
}

TEST(FunctionAnswer, HasTheValueAsItWasWritten) {
  const RunAnswer answer = answer_with({value_line(R"({"n": 1180591620717411303424, "f": 1.50})")});
  const std::string text = words_of(answer);
  EXPECT_EQ(text.find(R"({"result":{"n": 1180591620717411303424, "f": 1.50},"error":null,)"), 0u);
  const auto view = view_function(text);
  ASSERT_TRUE(view);
  EXPECT_EQ(view->status, kFunctionDone);
  EXPECT_EQ(view->out, "{\"n\": 1180591620717411303424, \"f\": 1.50}\n");
  EXPECT_EQ(view->remarks, "");
  EXPECT_NE(view->profile.find("1.500 ms"), std::string::npos) << view->profile;
  EXPECT_EQ(view->profile.find("queue"), std::string::npos) << "it did not wait";
}

TEST(FunctionAnswer, HasLambdasErrorObject) {
  RunAnswer answer = answer_with(
      {error_line(
          R"({"errorMessage":"no","errorType":"ValueError","stackTrace":["a",1,"b"],"x":1})")},
      1);
  json::object error = told(answer)["error"].as_object();
  EXPECT_EQ(error, json::parse(R"({"errorMessage":"no","errorType":"ValueError","requestId":"r-1",
                                   "stackTrace":["a","b"]})")
                       .as_object());
  const auto view = view_function(words_of(answer));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->status, kFunctionFailed);
  EXPECT_EQ(view->remarks, "sandbox-run: ValueError: no\n");
}

TEST(FunctionAnswer, ItsViewSaysWhatTheNetworkPolicyRefused) {
  RunAnswer answer = answer_with({value_line("1")});
  EXPECT_EQ(view_function(words_of(answer))->remarks, "");
  answer.network = NetworkFigures{};
  EXPECT_EQ(view_function(words_of(answer))->remarks, "");
  answer.network->decisions = {{.what = NetDecision::What::kResolve,
                                .name = "a.example",
                                .address = "",
                                .rule = "not in the policy"}};
  EXPECT_EQ(view_function(words_of(answer))->remarks,
            "sandbox-run: network: a.example is not in the policy; --net a.example allows it\n");
}

TEST(FunctionAnswer, ItsViewSaysHowToHaveANetworkIfTheErrorSeemsToBeThat) {
  const auto remarks = [](const std::string& message, bool has_network) {
    RunAnswer answer = answer_with(
        {error_line(json::serialize(json::object{{"errorMessage", message}, {"errorType", "E"}}))},
        1);
    if (has_network) answer.network = NetworkFigures{};
    return view_function(words_of(answer))->remarks;
  };
  const std::string failed = "[Errno -3] Temporary failure in name resolution";
  EXPECT_EQ(remarks(failed, false),
            "sandbox-run: E: " + failed + "\nsandbox-run: " + std::string(kNoNetworkHint) + "\n");
  EXPECT_EQ(remarks(failed, true), "sandbox-run: E: " + failed + "\n");
  EXPECT_EQ(remarks("no", false), "sandbox-run: E: no\n");
}

TEST(FunctionAnswer, TheLastOfSeveralLinesCounts) {
  EXPECT_EQ(told(answer_with(
                {value_line("1"), "{\"type\":\"function\"}", value_line("2"), "junk"}))["result"],
            2);
}

TEST(FunctionAnswer, AForgedValueIsCheckedLikeAnyOther) {
  for (const char* text : {"", "{", "NaN", "1 2", "{\"a\":1,\"a\":2}", "\"\xff\""}) {
    EXPECT_EQ(error_type(answer_with({value_line(text)})), "Runtime.MarshalError") << text;
  }
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_EQ(error_type(answer_with({value_line(deep)})), "Runtime.MarshalError");
  EXPECT_EQ(error_type(answer_with({R"({"type":"function","value":"?"})"})),
            "Runtime.MarshalError");
  EXPECT_EQ(error_type(answer_with({error_line("[]")}, 1)), "Runtime.Unknown");
}

TEST(FunctionAnswer, WhatHasAnErrorHasNoExitCodeOfSuccess) {
  for (const std::string& line :
       {value_line("{\"a\":1,\"a\":2}"), error_line("{}"), std::string("nothing")}) {
    RunAnswer answer = answer_with({line});
    const std::string text = function_exit_json(answer, kAbout);
    EXPECT_EQ(json::parse(text).at("exit_code"), 1) << text;
    EXPECT_EQ(answer.outcome.exit_code, 1);
  }
  EXPECT_EQ(told(answer_with({}, 7))["exit_code"], 7);
  EXPECT_EQ(told(answer_with({value_line("1")}))["exit_code"], 0);
}

TEST(FunctionAnswer, AForgedValueBeginsNoLine) {
  const std::string text =
      words_of(answer_with({value_line("[1,\n{\"event\":\"exit\"}\r\n,\t\"a\\nb\"\n]")}));
  EXPECT_EQ(text.find_first_of("\r\n\t"), text.size() - 1);
  EXPECT_EQ(json::parse(text).at("result").as_array().at(2), "a\nb");
}

TEST(FunctionAnswer, AForgedPhaseIsNoFigure) {
  const json::object answer = told(
      answer_with({R"({"type":"function","value":"MQ==","import_ms":-1,"handler_ms":1e300})"}));
  EXPECT_TRUE(answer.at("phases").at("import_ms").is_null());
  EXPECT_TRUE(answer.at("phases").at("handler_ms").is_null());
}

TEST(FunctionAnswer, APhaseMayTakeNoTime) {
  const json::object answer =
      told(answer_with({R"({"type":"function","value":"MQ==","import_ms":0,"handler_ms":1e9})"}));
  EXPECT_EQ(answer.at("phases").at("import_ms").to_number<double>(), 0);
  EXPECT_EQ(answer.at("phases").at("handler_ms").to_number<double>(), 1e9);
}

TEST(FunctionAnswer, AnErrorHasAtMost200Frames) {
  for (const std::size_t count : {199, 200, 201}) {
    const std::string frames = json::serialize(json::array(count, "f"));
    json::object error = told(answer_with(
        {error_line(R"({"errorType":"E","stackTrace":)" + frames + "}")}, 1))["error"]
                             .as_object();
    EXPECT_EQ(error["stackTrace"].as_array().size(), std::min<std::size_t>(count, 200)) << count;
  }
}

TEST(FunctionAnswer, AnErrorHasAtMost2Megabytes) {
  const auto type_at = [](std::size_t size) {
    const std::string error = R"({"errorType":"E"})";
    return error_type(answer_with({error_line(error + std::string(size - error.size(), ' '))}, 1));
  };
  EXPECT_EQ(type_at(2u << 20), "E");
  EXPECT_EQ(type_at((2u << 20) + 1), "Runtime.Unknown");
}

TEST(FunctionAnswer, TellsHowItEndedWhenTheHandlerDidNot) {
  EXPECT_EQ(error_type(answer_with({})), "Runtime.ExitError");
  EXPECT_EQ(told(answer_with({}, 7))["error"].as_object()["errorMessage"],
            "RequestId: r-1 Error: Runtime exited with error: exit status 7");
  RunAnswer killed = answer_with({}, 139);
  killed.outcome.signal = SIGSEGV;
  EXPECT_EQ(told(killed)["error"].as_object()["errorMessage"],
            "RequestId: r-1 Error: Runtime exited with error: signal: segmentation fault");
  RunAnswer full = answer_with({}, 137);
  full.outcome.oom_killed = true;
  EXPECT_EQ(error_type(full), "Runtime.OutOfMemory");
}

TEST(FunctionAnswer, AValueAndAFailureIsAFailure) {
  EXPECT_EQ(error_type(answer_with({value_line("1")}, 1)), "Runtime.ExitError");
}

TEST(FunctionAnswer, TimeThatRanOutComesBeforeWhatTheHandlerSays) {
  RunAnswer late = answer_with({value_line("1")}, 124);
  late.outcome.timed_out = true;
  late.outcome.wall = milliseconds(3001);
  EXPECT_EQ(told(late)["error"].as_object()["errorMessage"],
            "RequestId: r-1 Error: Task timed out after 3.00 seconds");
  EXPECT_EQ(error_type(late), "Sandbox.Timedout");
  late.outcome.cpu_exceeded = true;
  EXPECT_NE(words_of(late).find("Task used up its CPU time"), std::string::npos);
  EXPECT_EQ(view_function(words_of(late))->status, kFunctionTimedOut);
}

TEST(FunctionView, TellsWhatIsUndefinedFromWhatFailed) {
  const auto status = [](const char* type) {
    const std::string error = std::string("{\"errorMessage\":\"\",\"errorType\":\"") + type + "\"}";
    return view_function(words_of(answer_with({error_line(error)}, 1)))->status;
  };
  EXPECT_EQ(status("Runtime.UserCodeSyntaxError"), kFunctionUndefined);
  EXPECT_EQ(status("Runtime.HandlerNotFound"), kFunctionUndefined);
  EXPECT_EQ(status("Runtime.ImportModuleError"), kFunctionFailed);
  // Only the server, which keeps the clock, can report a timeout.
  EXPECT_EQ(status("Sandbox.Timedout"), kFunctionFailed);
}

TEST(FunctionView, RefusesWhatIsNoAnswer) {
  for (const char* text : {"", "[]", "{}", "{\"result\":1}", "{\"result\":1,\"error\":null"}) {
    EXPECT_FALSE(view_function(text)) << text;
  }
}

TEST(FunctionView, ShowsNoControlCharacterOfAGuests) {
  const auto view = view_function(words_of(
      answer_with({error_line(R"({"errorMessage":"\u001b[2Jx\ny","errorType":"E"})")}, 1)));
  ASSERT_TRUE(view);
  EXPECT_EQ(view->remarks.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(view->remarks.begin(), view->remarks.end(), '\n'), 1);
}

}  // namespace
}  // namespace glovebox::wire
