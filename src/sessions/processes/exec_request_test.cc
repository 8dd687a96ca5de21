#include "sessions/processes/exec_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <csignal>

#include "sessions/contexts/context_output.h"
#include "sessions/processes/process_json.h"
#include "sessions/processes/process_label.h"
#include "sessions/processes/signal_names.h"
#include "wire/runs/stream_text.h"

namespace glovebox::sessions {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string refusal(std::string_view body) {
  const auto parsed = parse_exec_request(body);
  return parsed ? "taken" : parsed.error().message();
}

TEST(ExecRequest, TakesACommandLineOrArguments) {
  const auto line = parse_exec_request(R"({"cmd":"ls | wc"})");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->cwd, "/home/user");
  EXPECT_FALSE(line->timeout);
  const node::ProcessSpec spec = process_spec(*line, {"A=1"}, Shell::kBash);
  EXPECT_THAT(spec.exec.argv, ElementsAre("/bin/bash", "-c", "ls | wc"));
  EXPECT_THAT(process_spec(*line, {}, Shell::kSh).exec.argv,
              ElementsAre("/bin/sh", "-c", "ls | wc"));
  const auto words = parse_exec_request(R"({"argv":["/bin/ls","-l"],"cwd":"/tmp"})");
  ASSERT_TRUE(words);
  EXPECT_THAT(process_spec(*words, {}, Shell::kBash).exec.argv, ElementsAre("/bin/ls", "-l"));
  EXPECT_EQ(words->cwd, "/tmp");
}

TEST(ExecRequest, RefusesInvalidFields) {
  EXPECT_THAT(refusal(R"({})"), HasSubstr("cmd: is missing"));
  EXPECT_THAT(refusal(R"({"cmd":"a","argv":["b"]})"), HasSubstr("argv: cannot be combined"));
  EXPECT_THAT(refusal(R"({"cmd":""})"), HasSubstr("cmd: must not be empty"));
  EXPECT_THAT(refusal(R"({"argv":[]})"), HasSubstr("argv: must begin"));
  EXPECT_THAT(refusal(R"({"cmd":"a\u0000b"})"), HasSubstr("NUL"));
  EXPECT_THAT(refusal(R"({"cmd":"a","cwd":"home"})"), HasSubstr("cwd: must be an absolute"));
  EXPECT_THAT(refusal(R"({"cmd":"a","user":"a:b"})"), HasSubstr("user: "));
  EXPECT_THAT(refusal(R"({"cmd":"a","user":""})"), HasSubstr("user: "));
  EXPECT_THAT(refusal(R"({"cmd":"a","env":{"1A":"x"}})"), HasSubstr("env.1A"));
  EXPECT_THAT(refusal(R"({"cmd":"a","env":{"A":1}})"), HasSubstr("env.A: must be a string"));
  EXPECT_THAT(refusal(R"({"cmd":"a","timeout_ms":86400001})"), HasSubstr("timeout_ms"));
  EXPECT_THAT(refusal(R"({"cmd":"a","terminal":{"rows":0}})"), HasSubstr("terminal.rows"));
  EXPECT_THAT(refusal(R"({"cmd":"a","terminal":{"cols":3}})"), HasSubstr("terminal.cols"));
  EXPECT_THAT(refusal(R"({"cmd":"a","stdin":"x","stdin_base64":"eA=="})"),
              HasSubstr("stdin_base64: cannot be combined"));
  EXPECT_THAT(refusal(R"({"cmd":"a","timeoutms":3})"), HasSubstr("did you mean \"timeout_ms\""));
  EXPECT_THAT(refusal(R"({"cmd":")" + std::string(130'000, 'x') + "\"}"), HasSubstr("112 KB"));
}

TEST(ExecRequest, GivesRootItsOwnHomeUnlessTheCallerSetsOne) {
  const std::vector<std::string> base = {"HOME=/home/user", "USER=user", "X=1"};
  const auto root = parse_exec_request(R"({"cmd":"id","user":"root","env":{"USER":"me","X":"2"}})");
  ASSERT_TRUE(root);
  EXPECT_EQ(root->cwd, "/root");
  const auto env = process_spec(*root, base, Shell::kBash).exec.env;
  EXPECT_THAT(env, Contains("HOME=/root"));
  EXPECT_THAT(env, Contains("USER=me"));
  EXPECT_THAT(env, Contains("X=2"));
  EXPECT_THAT(env, Not(Contains("X=1")));
  const auto user = parse_exec_request(R"({"cmd":"id"})");
  EXPECT_THAT(process_spec(*user, base, Shell::kBash).exec.env, Contains("HOME=/home/user"));
}

TEST(Signals, AreKnownByNameAndNumber) {
  for (const char* word : {"TERM", "SIGTERM", "term", "sigterm", "15", "SIG15"}) {
    EXPECT_EQ(parse_signal(word), SIGTERM) << word;
  }
  EXPECT_EQ(parse_signal("RTMIN+2"), 36);
  EXPECT_EQ(parse_signal("64"), 64);
  for (const char* word : {"", "0", "65", "-9", "SIG", "TERMX", "9 ", "RTMIN+31", "1e1"}) {
    EXPECT_EQ(parse_signal(word), std::nullopt) << word;
  }
}

TEST(ProcessLabel, RoundTripsAndAlwaysFits) {
  ProcessLabel label;
  label.cmd = "echo \"gr\xc3\xbc\xc3\x9f\"";
  label.user = "root";
  label.cwd = "/tmp";
  label.created_ms = 1'700'000'000'123;
  label.context = "cxabc";
  label.language = "python";
  label.args = {"-l", "-c", "echo hi"};
  label.envs = {"A=1", "B=x=y", "C="};
  label.tag = "mine";
  label.deadline_ms = 1'700'000'060'123;
  EXPECT_EQ(decode_label(encode_label(label)), label);
  EXPECT_EQ(shown_command(label), "echo \"gr\xc3\xbc\xc3\x9f\" -l -c echo hi");
  label.cmd = std::string(100'000, '\x01');
  label.cwd = "/" + std::string(4000, '\xff');
  label.args.assign(4000, std::string(100, '\x02'));
  label.envs.assign(1000, std::string(100, '\x03') + "=" + std::string(1000, '\x04'));
  label.tag = std::string(kMaxTag, '\x05');
  const std::string text = encode_label(label);
  EXPECT_LE(text.size(), wire::kMaxLabel);
  EXPECT_EQ(decode_label(text).context, "cxabc");
  EXPECT_EQ(decode_label(text).tag, label.tag);
  EXPECT_EQ(decode_label("nothing of ours"), ProcessLabel{});
  EXPECT_EQ(decode_label(R"({"cmd":7,"created_ms":"x"})"), ProcessLabel{});
}

TEST(StreamText, CutsOnlyBetweenCharactersAndKnowsTheOffsets) {
  const std::string text = "a\xe2\x82\xac\xf0\x9f\xa7\xa4z";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    wire::StreamText stream;
    std::string got;
    for (const auto& [at, part] : {std::pair<std::size_t, std::string>{0, text.substr(0, cut)},
                                   std::pair<std::size_t, std::string>{cut, text.substr(cut)}}) {
      const auto piece = stream.add(1000 + at, part);
      EXPECT_EQ(piece.offset, 1000 + got.size()) << cut;
      boost::json::object object;
      add_data(object, piece.text);
      EXPECT_TRUE(object.contains("data")) << cut;
      got += piece.text;
    }
    EXPECT_EQ(got, text);
    EXPECT_EQ(stream.rest().text, "");
  }
  wire::StreamText cut_off;
  EXPECT_EQ(cut_off.add(5, "ab\xe2\x82").text, "ab");
  const auto rest = cut_off.rest();
  EXPECT_EQ(rest.offset, 7u);
  EXPECT_EQ(rest.text, "\xe2\x82");
  EXPECT_EQ(cut_off.add(9, "x").offset, 9u);
}

TEST(ContextOutput, FindsTheEndAfterMoreResultsThanAreKept) {
  ContextOutput lines;
  std::size_t results = 0;
  for (int i = 0; i < 2000; ++i) {
    for (const auto& line : lines.add("{\"type\":\"result\",\"mime\":{\"text/plain\":\"1\"}}\n")) {
      results += line.result.empty() ? 0 : 1;
    }
  }
  EXPECT_EQ(results, node::ResultLines::kMaxLines);
  EXPECT_TRUE(lines.truncated());
  // In three pieces, after a line that is too long for an event.
  EXPECT_TRUE(lines.add(std::string(5000, 'x')).empty());
  EXPECT_TRUE(lines.add("\n{\"type\":\"en").empty());
  const auto end = lines.add("d\",\"cell\":5,\"exit_code\":0}\n");
  ASSERT_EQ(end.size(), 1u);
  ASSERT_TRUE(std::holds_alternative<wire::CellEnd>(end[0].event));
  EXPECT_EQ(std::get<wire::CellEnd>(end[0].event).number, 5u);
}

}  // namespace
}  // namespace glovebox::sessions
