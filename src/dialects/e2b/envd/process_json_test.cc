#include "dialects/e2b/envd/process_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cerrno>
#include <csignal>

#include "base/base64.h"
#include "wire/guest/session_frames.h"

namespace glovebox::e2b {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<StartRequest> start_of(std::string_view text) { return read_start(json::parse(text)); }

TEST(E2bProcessJson, AStartIsReadWhole) {
  const auto start = start_of(
      R"({"process":{"cmd":"/bin/bash","args":["-l","-c","x"],"envs":{"A-b":"1=2"},"cwd":"/tmp"},
          "stdin":false,"tag":"t","pty":{"size":{"cols":"100","rows":30}},"unknown":{"a":1}})");
  ASSERT_TRUE(start.has_value());
  EXPECT_EQ(start->cmd, "/bin/bash");
  EXPECT_THAT(start->args, ElementsAre("-l", "-c", "x"));
  EXPECT_THAT(start->envs, ElementsAre("A-b=1=2"));
  EXPECT_EQ(start->cwd, "/tmp");
  EXPECT_EQ(start->tag, "t");
  EXPECT_FALSE(start->has_stdin);
  ASSERT_TRUE(start->terminal.has_value());
  EXPECT_EQ(start->terminal->columns, 100);
  EXPECT_EQ(start->terminal->rows, 30);
}

TEST(E2bProcessJson, OmittedFieldsHaveDefaults) {
  const auto start = start_of(R"({"process":{"cmd":"x","cwd":null}})");
  ASSERT_TRUE(start.has_value());
  EXPECT_TRUE(start->has_stdin);
  EXPECT_FALSE(start->terminal.has_value());
  EXPECT_TRUE(start->cwd.empty());
  const auto terminal = start_of(R"({"process":{"cmd":"x"},"pty":{"size":{"cols":0}}})");
  EXPECT_EQ(terminal->terminal->columns, 80);
  EXPECT_EQ(terminal->terminal->rows, 24);
}

TEST(E2bProcessJson, WhatCannotBeStartedIsRefused) {
  const std::string long_text(200'000, 'x');
  const std::string bad[] = {
      "{}",
      R"({"process":{}})",
      R"({"process":{"cmd":""}})",
      R"({"process":{"cmd":"a\u0000b"}})",
      R"({"process":{"cmd":"x","args":["a\u0000"]}})",
      R"({"process":{"cmd":"x","args":[1]}})",
      R"({"process":{"cmd":"x","envs":{"A=B":"1"}}})",
      R"({"process":{"cmd":"x","envs":{"":"1"}}})",
      R"({"process":{"cmd":"x","envs":{"A":"\u0000"}}})",
      R"({"process":{"cmd":"x","cwd":"/\u0000"}})",
      R"({"process":{"cmd":"x","args":[")" + long_text + R"("]}})",
      R"({"process":{"cmd":"x"},"tag":")" + std::string(257, 't') + R"("})",
      R"({"process":{"cmd":"x"},"pty":{"size":{"cols":"many"}}})",
      R"({"process":{"cmd":"x"},"stdin":"no"})",
  };
  for (const std::string& text : bad) {
    EXPECT_FALSE(start_of(text).has_value()) << text.substr(0, 80);
  }
}

TEST(E2bProcessJson, AProcessIsSelectedByPidOrTag) {
  EXPECT_EQ(read_selector(json::parse(R"({"process":{"pid":7}})"))->pid, 7u);
  EXPECT_EQ(read_selector(json::parse(R"({"process":{"pid":"7"}})"))->pid, 7u);
  EXPECT_EQ(read_selector(json::parse(R"({"process":{"tag":"t"}})"))->tag, "t");
  for (const char* text : {"{}", R"({"process":{}})", R"({"process":{"pid":-1}})",
                           R"({"process":{"pid":4294967296}})", R"({"process":7})"}) {
    EXPECT_FALSE(read_selector(json::parse(text)).has_value()) << text;
  }
}

TEST(E2bProcessJson, EmptyInputIsInput) {
  const auto input = read_input(json::parse(R"({"input":{"stdin":""}})"));
  ASSERT_TRUE(input.has_value());
  EXPECT_FALSE(input->is_terminal);
  EXPECT_EQ(read_input(json::parse(R"({"input":{"pty":"aGk="}})"))->bytes, "hi");
  EXPECT_FALSE(read_input(json::parse(R"({"input":{}})")).has_value());
  EXPECT_FALSE(read_input(json::parse(R"({"input":{"stdin":"?"}})")).has_value());
  EXPECT_FALSE(read_input(json::parse(R"({"input":{"stdin":"","pty":""}})")).has_value());
  EXPECT_TRUE(read_input(json::parse(R"({"input":{"pty":""}})"))->is_terminal);
  EXPECT_FALSE(ProcessInput{}.is_terminal);
  EXPECT_TRUE(StartRequest{}.has_stdin);
}

TEST(E2bProcessJson, WhatIsStartedIsTakenUpToItsBounds) {
  const auto is_taken = [](const std::string& process) {
    return start_of(R"({"process":{)" + process + "}}").has_value();
  };
  const auto variables = [](int count) {
    std::string text = R"("cmd":"x","envs":{)";
    for (int i = 0; i < count; ++i) {
      text += (i == 0 ? "\"A" : ",\"A") + std::to_string(i) + "\":\"\"";
    }
    return text + "}";
  };
  EXPECT_TRUE(is_taken(variables(1024)));
  EXPECT_FALSE(is_taken(variables(1025)));
  // The command, and the argument with its NUL.
  const auto argument = [](std::size_t bytes) {
    return R"("cmd":"x","args":[")" + std::string(bytes - 2, 'a') + R"("])";
  };
  EXPECT_TRUE(is_taken(argument(112 * 1024)));
  EXPECT_FALSE(is_taken(argument(112 * 1024 + 1)));
  EXPECT_EQ(read_selector(json::parse(R"({"process":{"pid":4294967295}})"))->pid, UINT32_MAX);
  EXPECT_EQ(read_selector(json::parse(R"({"process":{"pid":"4294967295"}})"))->pid, UINT32_MAX);
  EXPECT_FALSE(read_selector(json::parse(R"({"process":{"pid":"4294967296"}})")));
}

TEST(E2bProcessJson, AUserIsANameOrANumber) {
  const auto user = [](const std::string& name) {
    http::Request request;
    request.headers.set("Authorization", "Basic " + base64_encode(name + ":"));
    return user_for(request);
  };
  EXPECT_EQ(user_for(http::Request{}), "user");
  for (const std::string& name : {std::string("root"), std::string("1000"), std::string("!"),
                                  std::string(wire::kMaxUserName, 'a')}) {
    EXPECT_EQ(user(name), name);
  }
  for (const std::string& name : {std::string("a b"), std::string("a/b"), std::string("a\x7f"),
                                  std::string("\t"), std::string(wire::kMaxUserName + 1, 'a')}) {
    EXPECT_EQ(user(name), std::nullopt) << name;
  }
}

TEST(E2bProcessJson, ATimeoutHasAtMostTenDigits) {
  const auto timeout = [](const char* text) {
    http::Request request;
    request.headers.set("Connect-Timeout-Ms", text);
    return timeout_of(request);
  };
  EXPECT_EQ(timeout("1"), std::chrono::milliseconds(1));
  EXPECT_EQ(timeout("9999999999"), std::chrono::milliseconds(9'999'999'999));
  for (const char* none : {"", "0", "00000000001", "-1", "1x", " 1"}) {
    EXPECT_EQ(timeout(none), std::nullopt) << none;
  }
}

TEST(E2bProcessJson, SignalsByNameAndNumber) {
  EXPECT_EQ(read_signal(json::parse(R"({"signal":"SIGNAL_SIGKILL"})")), SIGKILL);
  EXPECT_EQ(read_signal(json::parse(R"({"signal":15})")), SIGTERM);
  for (const char* text : {"{}", R"({"signal":"SIGNAL_UNSPECIFIED"})", R"({"signal":2})", "[]"}) {
    EXPECT_EQ(read_signal(json::parse(text)), std::nullopt) << text;
  }
}

TEST(E2bProcessJson, DirectoriesAreBelowTheHome) {
  EXPECT_EQ(*directory_of("", "user"), "/home/user");
  EXPECT_EQ(*directory_of("~", "root"), "/root");
  EXPECT_EQ(*directory_of("~/a", "user"), "/home/user/a");
  EXPECT_EQ(*directory_of("a/b", "root"), "/root/a/b");
  EXPECT_EQ(*directory_of("/x", "user"), "/x");
  EXPECT_EQ(*directory_of("", "other"), "");  // the guest knows
  EXPECT_EQ(*directory_of("a", "other"), "/home/other/a");
  EXPECT_FALSE(directory_of("~other/a", "user").has_value());
}

TEST(E2bProcessJson, EndsAreInTheFormThatClientsRead) {
  EXPECT_EQ(end_event({.code = 0}),
            R"({"event":{"end":{"exitCode":0,"exited":true,"status":"exit status 0"}}})");
  EXPECT_EQ(end_event({.code = 3}), R"({"event":{"end":{"exitCode":3,"exited":true,)"
                                    R"("status":"exit status 3","error":"exit status 3"}}})");
  EXPECT_EQ(end_event({.signal = SIGKILL}),
            R"({"event":{"end":{"exitCode":-1,"exited":false,)"
            R"("status":"signal: killed","error":"signal: killed"}}})");
  EXPECT_THAT(end_event({.signal = SIGTERM}), HasSubstr("signal: terminated"));
  EXPECT_THAT(end_event({.signal = 40}), HasSubstr("signal: signal 40"));
  EXPECT_EQ(data_event("stdout", "hello\n"), R"({"event":{"data":{"stdout":"aGVsbG8K"}}})");
}

TEST(E2bProcessJson, AFailedStartHasTheCodeOfItsCause) {
  const Error no_user(Errc::kInvalidArgument, "no such user: Invalid argument", EINVAL);
  EXPECT_EQ(start_failure(no_user, "eve", "").code, Code::kUnauthenticated);
  const Error no_place(Errc::kNotFound, "enter working directory: No such file or directory",
                       ENOENT);
  const ConnectError cwd = start_failure(no_place, "user", "nowhere");
  EXPECT_EQ(cwd.code, Code::kInvalidArgument);
  EXPECT_EQ(cwd.message, "cwd 'nowhere' does not exist");
  const Error no_program(Errc::kNotFound, "execute: No such file or directory", ENOENT);
  EXPECT_EQ(start_failure(no_program, "user", "").code, Code::kInvalidArgument);
  const Error full(Errc::kResourceExhausted, "fork: Resource temporarily unavailable", EAGAIN);
  EXPECT_EQ(start_failure(full, "user", "").code, Code::kResourceExhausted);
}

TEST(E2bProcessJson, TimesAreReadFromTheHeaders) {
  http::Request request;
  EXPECT_EQ(timeout_of(request), std::nullopt);
  EXPECT_EQ(keepalive_of(request), std::chrono::seconds(90));
  request.headers.set("Connect-Timeout-Ms", "1500");
  request.headers.set("Keepalive-Ping-Interval", "50");
  EXPECT_EQ(timeout_of(request), std::chrono::milliseconds(1500));
  EXPECT_EQ(keepalive_of(request), std::chrono::seconds(50));
  for (const char* text : {"0", "-1", "x", "12345678901"}) {
    request.headers.set("Connect-Timeout-Ms", text);
    EXPECT_EQ(timeout_of(request), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace glovebox::e2b
