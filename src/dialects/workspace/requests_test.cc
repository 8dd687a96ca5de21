#include "dialects/workspace/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::workspace {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr milliseconds kMost{300'000};

std::string refusal(const auto& result) { return result ? "accepted" : result.error().message(); }

TEST(WorkspaceIds, SurviveTheRoundTripToAnAgentId) {
  for (const std::string id :
       {"mine", "../..", "a/b", "x y", "\xc3\xbc\xe4\xb8\xad", "workspace:"}) {
    const auto agent = agent_of(id);
    ASSERT_TRUE(agent) << id;
    EXPECT_EQ(session_of_agent(*agent), id);
  }
  EXPECT_TRUE(agent_of(std::string(128, 'x')));
  EXPECT_LE(agent_of(std::string(128, 'x'))->size(), sessions::kMaxAgentId);
  EXPECT_FALSE(session_of_agent("mine"));
  EXPECT_FALSE(session_of_agent("workspac"));
}

TEST(WorkspaceIds, AreShortPrintableText) {
  for (const std::string& id :
       {std::string(), std::string(129, 'x'), std::string("a\0b", 3), std::string("a\nb"),
        std::string("\x7f"), std::string("\xff\xfe"), std::string("\xed\xa0\x80")}) {
    EXPECT_THAT(refusal(agent_of(id)), HasSubstr("session_id")) << id.size();
  }
}

TEST(WorkspaceCreate, CombinesTheSettingsAndTheRequest) {
  const Settings settings{.cpu_thousandths = 500, .memory_bytes = 128u << 20};
  const auto plain = parse_create("", settings);
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->profile.cpu_thousandths, 500u);
  EXPECT_EQ(plain->profile.memory_bytes, 128u << 20);
  EXPECT_TRUE(plain->template_name.empty());
  const auto said = parse_create(
      R"({"cpu_quota":2,"memory_limit":65536,"size":"50M","timeout":1.5,"template":"base"})",
      settings);
  ASSERT_TRUE(said) << said.error().message();
  EXPECT_EQ(said->profile.cpu_thousandths, 2000u);
  EXPECT_EQ(said->profile.memory_bytes, 64u << 20);
  EXPECT_EQ(said->profile.disk_bytes, 50u << 20);
  EXPECT_EQ(said->template_name, "base");
  EXPECT_EQ(said->metadata.at(std::string(kTimeoutKey)), "1500");
}

TEST(WorkspaceCreate, RefusesWhatIsNotAllowed) {
  const Settings settings;
  EXPECT_EQ(parse_create(R"({"allow_network":true})", settings).error().code(), Errc::kPolicy);
  EXPECT_TRUE(parse_create(R"({"allow_network":false})", settings));
  Settings open;
  open.allow_network = true;
  open.reach.base = net::NetBase::kAll;
  EXPECT_EQ(parse_create("", open)->profile.net, open.reach);
  EXPECT_EQ(parse_create(R"({"allow_network":true})", open)->profile.net, open.reach);
  EXPECT_EQ(parse_create(R"({"allow_network":false})", open)->profile.net, net::NetPolicy{});
  for (const char* body : {R"({"nope":1})", R"({"size":"1K"})", R"({"memory_limit":1})",
                           R"({"timeout":301})", R"({"template":"../x"})", "[]", "null", "{"}) {
    const auto parsed = parse_create(body, settings);
    ASSERT_FALSE(parsed) << body;
    EXPECT_EQ(parsed.error().code(), Errc::kInvalidArgument) << body;
  }
}

TEST(WorkspaceCode, IsReadStrictly) {
  const auto code = parse_code(
      R"({"code":"x","timeout":2,"filename":null,"args":[],"output_params":["a"]})", kMost);
  ASSERT_TRUE(code) << code.error().message();
  EXPECT_EQ(code->timeout, milliseconds(2000));
  EXPECT_FALSE(code->shell);
  EXPECT_THAT(*code->output_params, ElementsAre("a"));
  EXPECT_FALSE(parse_code(R"({"code":"x"})", kMost)->output_params);
  EXPECT_TRUE(parse_code(R"({"code":"x","output_params":[]})", kMost)->output_params);
  for (const char* body :
       {"", "{}", R"({"code":1})", R"({"code":"x","timeout":301})", R"({"code":"x","timeout":0})",
        R"({"code":"x","args":["a"]})", R"({"code":"x","script_type":"perl"})",
        R"({"code":"x","output_params":["a'"]})", R"({"code":"x","output_params":["1a"]})",
        R"({"code":"x","output_params":[""]})", R"({"code":"\u0000"})", R"({"code":"x","x":1})"}) {
    EXPECT_FALSE(parse_code(body, kMost)) << body;
  }
}

TEST(WorkspaceCommand, IsAShellLineOrAnArgv) {
  const auto line = translate_command(R"({"command":"ls | wc"})", kMost, milliseconds(7000));
  ASSERT_TRUE(line);
  EXPECT_EQ(boost::json::parse(*line),
            boost::json::parse(R"({"timeout_ms":7000,"cmd":"ls | wc"})"));
  const auto translated =
      translate_command(R"({"command":"ls","args":["-l","a b"],"timeout":1})", kMost, kMost);
  ASSERT_TRUE(translated);
  EXPECT_EQ(boost::json::parse(*translated),
            boost::json::parse(R"({"timeout_ms":1000,"argv":["ls","-l","a b"]})"));
  for (const char* body : {"", "{}", R"({"command":""})", R"({"command":["ls"]})",
                           R"({"command":"ls","user":"root"})", R"({"command":"ls","args":"x"})"}) {
    EXPECT_FALSE(translate_command(body, kMost, kMost)) << body;
  }
}

TEST(WorkspaceCommand, AScriptIsOneArgumentOfBash) {
  CodeRequest request;
  request.code = "echo \"$1\"";
  request.args = {"a b"};
  const auto exec = boost::json::parse(translate_script(request, milliseconds(1000)));
  EXPECT_EQ(exec,
            boost::json::parse(
                R"({"timeout_ms":1000,"argv":["/bin/bash","-c","echo \"$1\"","bash","a b"]})"));
}

TEST(WorkspaceFiles, AreBelowHome) {
  EXPECT_EQ(*path_of("a"), "/home/user/a");
  EXPECT_EQ(*path_of("a/b c"), "/home/user/a/b c");
  EXPECT_EQ(*path_of("/home/user/a"), "/home/user/a");
  EXPECT_EQ(*path_of("..a/b.."), "/home/user/..a/b..");
  EXPECT_EQ(*path_of("\xff"), "/home/user/\xff");
  for (const std::string& name :
       {std::string(), std::string(".."), std::string("../a"), std::string("a/../../b"),
        std::string("a/.."), std::string("/etc/passwd"), std::string("//a"), std::string("a\0b", 3),
        std::string("/home/user/../x"), std::string("/home/user//x"), std::string(5000, 'a')}) {
    EXPECT_FALSE(path_of(name)) << name.substr(0, 20);
  }
}

}  // namespace
}  // namespace glovebox::workspace
