#include "client/output/run_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace glovebox::client {
namespace {

using ::testing::HasSubstr;

struct Heard {
  std::string out;
  std::string err;
  RunEvents events{[this](bool is_stderr, std::string_view bytes) {
    (is_stderr ? err : out) += bytes;
    return true;
  }};
};

const std::string kRun =
    "{\"event\":\"stdout\",\"text\":\"a\\n\"}\n"
    "{\"event\":\"stderr\",\"base64\":\"/wA=\"}\n"
    "{\"event\":\"result\",\"mime\":{\"text/plain\":\"2\"},\"main\":true}\n"
    "{\"event\":\"error\",\"name\":\"ValueError\",\"message\":\"x\"}\n"
    "{\"event\":\"exit\",\"exit_code\":3,\"timed_out\":false}\n";

TEST(RunEvents, PassesOnOutputHoweverTheLinesAreSplit) {
  for (std::size_t size = 1; size <= kRun.size(); ++size) {
    Heard heard;
    for (std::size_t at = 0; at < kRun.size(); at += size) {
      ASSERT_TRUE(heard.events.add(std::string_view(kRun).substr(at, size)).value());
    }
    EXPECT_EQ(heard.out, "a\n");
    EXPECT_EQ(heard.err, std::string("\xff\0", 2));
    EXPECT_EQ(heard.events.take_result().value().at("exit_code").as_int64(), 3);
  }
}

TEST(RunEvents, StopsWhenTheOutputIsClosed) {
  RunEvents events([](bool, std::string_view) { return false; });
  EXPECT_FALSE(events.add(kRun).value());
}

TEST(RunEvents, ATruncatedResponseIsAnError) {
  Heard heard;
  ASSERT_TRUE(heard.events.add(std::string_view(kRun).substr(0, kRun.size() - 2)));
  EXPECT_THAT(heard.events.take_result().error().message(), HasSubstr("before the run ended"));
}

TEST(RunEvents, TellsAServerFailureFromAGuestException) {
  Heard heard;
  ASSERT_TRUE(
      heard.events.add("{\"event\":\"error\",\"code\":\"launcher_restarting\","
                       "\"message\":\"the launcher is gone\",\"request_id\":\"rq1\"}\n"));
  EXPECT_EQ(heard.events.take_result().error().message(), "the launcher is gone");
}

TEST(RunEvents, AMalformedEventIsAnError) {
  for (const char* line : {"hello\n", "[]\n", "{}\n", "{\"event\":\"stdout\"}\n",
                           "{\"event\":\"stdout\",\"base64\":\"!\"}\n"}) {
    Heard heard;
    EXPECT_FALSE(heard.events.add(line)) << line;
  }
}

TEST(RunEvents, PassesOnBuildProgress) {
  std::string heard;
  RunEvents events([](bool, std::string_view) { return true; },
                   [&](std::string_view phase, std::string_view text) {
                     heard += std::string(phase) + ":" + std::string(text) + ";";
                   });
  const std::string lines =
      "{\"event\":\"build\",\"phase\":\"resolving\",\"text\":\"\"}\n\n"
      "{\"event\":\"build\",\"phase\":\"resolving\",\"text\":\"Collecting\"}\n"
      "{\"event\":\"layer\",\"id\":\"abc\"}\n";
  ASSERT_TRUE(*events.add(lines));
  EXPECT_EQ(heard, "resolving:;resolving:Collecting;");
  EXPECT_EQ(events.take_result()->at("id").as_string(), "abc");
  RunEvents malformed([](bool, std::string_view) { return true; });
  EXPECT_FALSE(malformed.add("{\"event\":\"build\",\"phase\":7}\n"));
}

TEST(RunEvents, AFailureHasTheServersCode) {
  RunEvents events([](bool, std::string_view) { return true; });
  ASSERT_TRUE(
      *events.add("{\"event\":\"error\",\"code\":\"dependencies_failed\",\"message\":\"no\\n"
                  "such\",\"status\":422,\"request_id\":\"rq\"}\n"));
  EXPECT_EQ(events.failure_code(), "dependencies_failed");
  EXPECT_EQ(events.take_result().error().message(), "no\nsuch");
}

}  // namespace
}  // namespace glovebox::client
