#include "wire/runs/run_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::wire {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

json::object answer_of(const RunAnswer& answer) {
  return json::parse(run_answer_json(run_exit_json(answer), answer.outcome)).get_object();
}

TEST(RunAnswer, HasTheShapeOfEveryResult) {
  RunAnswer answer;
  answer.id = "rn1";
  answer.request_id = "rq1";
  answer.outcome.out = "2\n";
  answer.profile = "abc";
  answer.template_name = "python";
  answer.warm = true;
  answer.queued = std::chrono::microseconds(1500);
  const json::object object = answer_of(answer);
  for (const char* name : {"id", "request_id", "exit_code", "signal", "stdout", "stderr", "result",
                           "results", "error", "timed_out", "oom_killed", "truncated", "files",
                           "metrics", "isolation", "profile", "template", "warm"}) {
    EXPECT_TRUE(object.contains(name)) << name;
  }
  EXPECT_EQ(object.at("stdout").as_string(), "2\n");
  EXPECT_TRUE(object.at("error").is_null());
  EXPECT_EQ(object.at("metrics").at("queue_ms").to_number<double>(), 1.5);
  EXPECT_FALSE(object.contains("stdout_base64"));
  EXPECT_EQ(object.at("isolation").at("grade").as_string(), "jail-partial");
  EXPECT_FALSE(object.at("isolation").at("missing").as_array().empty());
}

TEST(RunAnswer, TheExitEventHasNoOutput) {
  RunAnswer answer;
  answer.outcome.out = "2\n";
  const json::object object = json::parse(run_exit_json(answer)).get_object();
  EXPECT_FALSE(object.contains("stdout"));
  EXPECT_TRUE(object.contains("exit_code"));
}

TEST(RunAnswer, BytesAreGivenWholeBesideTheText) {
  RunAnswer answer;
  answer.outcome.err = "a\xff";
  answer.files = {{"/home/user/a", "text"}, {"/home/user/b", std::string("\0\xff", 2)}};
  const json::object object = answer_of(answer);
  EXPECT_EQ(object.at("stderr_base64").as_string(), "Yf8=");
  const json::array& files = object.at("files").as_array();
  EXPECT_EQ(files.at(0).at("content").as_string(), "text");
  EXPECT_EQ(files.at(1).at("content_base64").as_string(), "AP8=");
  EXPECT_EQ(files.at(1).at("size").as_int64(), 2);
}

TEST(RunAnswer, ResultsAreSortedByWhatTheyAre) {
  RunAnswer answer;
  answer.results = {
      R"({"type":"result","mime":{"image/png":"aWk="},"main":false})",
      R"({"type":"result","mime":{"text/plain":"2","application/json":2},"main":true})",
      R"({"type":"error","name":"ValueError","message":"no","traceback":["a","b"],"line":3})"};
  const json::object object = answer_of(answer);
  EXPECT_EQ(object.at("result").at("text/plain").as_string(), "2");
  EXPECT_EQ(object.at("result").at("application/json").as_int64(), 2);
  EXPECT_EQ(object.at("results").as_array().size(), 1u);
  EXPECT_EQ(object.at("error").at("name").as_string(), "ValueError");
  EXPECT_EQ(object.at("error").at("code").as_string(), "exception");
  EXPECT_EQ(object.at("error").at("line").as_int64(), 3);
}

TEST(RunAnswer, HostileLinesAreDropped) {
  RunAnswer answer;
  answer.results = {"",
                    "not json",
                    "[]",
                    R"({"type":"exit","exit_code":0})",
                    R"({"type":"result"})",
                    R"({"type":"result","mime":{"text/plain":["x"]}})",
                    R"({"type":"result","mime":{"no slash":"x"},"main":true})",
                    R"({"type":"error","name":7})",
                    R"({"type":"result","type":"error","name":"a","mime":{"a/b":"x"}})",
                    "{\"type\":\"result\",\"mime\":{\"text/plain\":\"\xff\"}}",
                    std::string(100'000, '[')};
  const json::object object = answer_of(answer);
  EXPECT_TRUE(object.at("result").is_null());
  EXPECT_TRUE(object.at("results").as_array().empty());
  EXPECT_TRUE(object.at("error").is_null());
}

TEST(RunAnswer, WhatTheWallsDidComesBeforeWhatTheCodeSays) {
  RunAnswer answer;
  answer.results = {R"({"type":"error","name":"Fake","message":"all is well"})"};
  answer.outcome.timed_out = true;
  EXPECT_EQ(answer_of(answer).at("error").at("code").as_string(), "timed_out");
  answer.outcome.cpu_exceeded = true;
  EXPECT_EQ(answer_of(answer).at("error").at("code").as_string(), "cpu_exceeded");
  answer.outcome.timed_out = answer.outcome.cpu_exceeded = false;
  EXPECT_EQ(answer_of(answer).at("error").at("name").as_string(), "Fake");
}

TEST(RunAnswer, EventsOfResults) {
  const ResultEvent shown =
      result_event(R"({"type":"result","mime":{"text/plain":"2"},"main":true})");
  EXPECT_EQ(shown.event, "result");
  EXPECT_EQ(json::parse(shown.data), json::parse(R"({"mime":{"text/plain":"2"},"main":true})"));
  EXPECT_EQ(result_event("x").event, "");
  EXPECT_EQ(json::parse(output_event_json("a\nb")), json::parse(R"({"text":"a\nb"})"));
  EXPECT_EQ(json::parse(output_event_json("\xff")), json::parse(R"({"base64":"/w=="})"));
}

TEST(Utf8Chunker, KeepsWhatIsCutOffForTheNextPiece) {
  Utf8Chunker pieces;
  EXPECT_EQ(pieces.add("a\xe2\x82"), "a");
  EXPECT_EQ(pieces.rest(), "\xe2\x82");
  EXPECT_EQ(pieces.add("\xac"
                       "b"),
            "\xe2\x82\xac"
            "b");
  EXPECT_EQ(pieces.rest(), "");
  EXPECT_EQ(pieces.add("\xf0\x9f"), "");
  EXPECT_EQ(pieces.add("\xa7\xa4"), "\xf0\x9f\xa7\xa4");
}

TEST(Utf8Chunker, KeepsUpToThreeBytes) {
  for (const std::string_view whole :
       {"\xc3\xa4", "\xe0\xa4\x85", "\xef\xbf\xbd", "\xf0\x9f\xa7\xa4", "\xf4\x8f\xbf\xbf"}) {
    for (std::size_t size = 1; size < whole.size(); ++size) {
      Utf8Chunker pieces;
      EXPECT_EQ(pieces.add(whole.substr(0, size)), "") << whole << ' ' << size;
      EXPECT_EQ(pieces.rest(), whole.substr(0, size));
      EXPECT_EQ(pieces.add(whole.substr(size)), whole);
      EXPECT_EQ(pieces.rest(), "");
    }
  }
  Utf8Chunker never;
  EXPECT_EQ(never.add("\xf5"), "\xf5");
}

TEST(RunAnswer, NamesEachWallThatIsMissing) {
  const json::object object = answer_of(RunAnswer{});
  for (const json::value& name : object.at("isolation").at("missing").as_array()) {
    EXPECT_NE(name.as_string(), "");
    EXPECT_NE(name.as_string(), "unknown");
  }
  EXPECT_FALSE(object.at("warm").as_bool());
  EXPECT_FALSE(RunAnswer{}.cancelled);
  EXPECT_FALSE(PreparedPackageSet{}.built);
}

TEST(RunAnswer, AResultsFormIsNamedByAMimeType) {
  const auto is_shown = [](const std::string& name) {
    RunAnswer answer;
    answer.results = {R"({"type":"result","mime":{")" + name + R"(":"x"},"main":true})"};
    return !answer_of(answer).at("result").is_null();
  };
  EXPECT_TRUE(is_shown("azAZ09/azAZ09+.-_"));
  EXPECT_TRUE(is_shown("a/" + std::string(98, 'b')));
  EXPECT_FALSE(is_shown("a/" + std::string(99, 'b')));
  for (const char* name : {"/a", "a/", "a", "a/b`", "a/b{", "a/b@", "a/b[", "a/b:", "a/b;c"}) {
    EXPECT_FALSE(is_shown(name)) << name;
  }
}

TEST(RunAnswer, AnErrorHasAtMost500LinesOfTraceback) {
  for (const std::size_t count : {500, 501}) {
    RunAnswer answer;
    answer.results = {R"({"type":"error","name":"E","traceback":)" +
                      json::serialize(json::array(count, "l")) + "}"};
    EXPECT_EQ(answer_of(answer).at("error").at("traceback").as_array().size(), 500u);
  }
}

TEST(Utf8Chunker, BytesThatAreNoTextPassThrough) {
  Utf8Chunker pieces;
  EXPECT_EQ(pieces.add("\xff\xfe"), "\xff\xfe");
  EXPECT_EQ(pieces.add("\x80\x80\x80\x80"), "\x80\x80\x80\x80");
}

}  // namespace
}  // namespace glovebox::wire
