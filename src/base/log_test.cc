#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "base/log_format.h"
#include "base/unique_fd.h"

namespace glovebox {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Standard error is a pipe for as long as this lives.
class CapturedLog {
 public:
  CapturedLog() : kept_(::dup(STDERR_FILENO)) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader_.reset(ends[0]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[1]);
    ::fcntl(reader_.get(), F_SETFL, O_NONBLOCK);  // its own open file, not the writer's
  }
  ~CapturedLog() { ::dup2(kept_.get(), STDERR_FILENO); }

  std::string read_all() {
    std::string all;
    char buffer[4096];
    while (true) {
      const ssize_t got = ::read(reader_.get(), buffer, sizeof buffer);
      if (got <= 0) return all;
      all.append(buffer, static_cast<std::size_t>(got));
    }
  }

 private:
  UniqueFd kept_;
  UniqueFd reader_;
};

// Every line without "2026-11-18T02:03:04.567Z " in front.
std::string without_times(const std::string& text) {
  constexpr std::size_t kTimeSize = 25;
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    const std::string line = text.substr(begin, end - begin);
    EXPECT_TRUE(line.size() > kTimeSize && line[10] == 'T' && line[23] == 'Z') << line;
    out += line.substr(std::min(kTimeSize, line.size()));
    begin = end;
  }
  return out;
}

TEST(Log, AReaderThatDoesNotReadBlocksNothingAndSeesHowMuchItMissed) {
  CapturedLog captured;
  // More than a pipe holds; with a write that waits the test would not end.
  for (int i = 0; i < 2000; ++i) log::warn("a line", {{"text", std::string(100, 'x')}});
  const std::string kept = captured.read_all();
  EXPECT_THAT(without_times(kept), StartsWith("glovebox warn: a line"));
  EXPECT_THAT(kept, EndsWith("x\"\n"));
  const auto lines = std::count(kept.begin(), kept.end(), '\n');
  log::warn("the next");
  EXPECT_EQ(without_times(captured.read_all()),
            "glovebox warn: the log's reader was too slow: lines were dropped count=\"" +
                std::to_string(2000 - lines) + "\"\nglovebox warn: the next\n");
  log::warn("after that");
  EXPECT_EQ(without_times(captured.read_all()), "glovebox warn: after that\n");
}

TEST(Log, ALongLineIsCutToWhatAPipeTakesAtOnce) {
  CapturedLog captured;
  log::warn("long", {{"text", std::string(100'000, 'x')}});
  const std::string line = captured.read_all();
  EXPECT_EQ(line.size(), static_cast<std::size_t>(PIPE_BUF));
  EXPECT_THAT(line, EndsWith("x...\n"));
}

constexpr std::int64_t kAt = 1'792'000'000'123;

TEST(Log, ALineBeginsWithItsTime) {
  EXPECT_EQ(log::format_line(log::Format::kText, kAt, "info", "started", {{"id", "a\n\"b\xff"}}),
            "2026-10-14T17:46:40.123Z glovebox info: started id=\"a\\x0a\\\"b\\xff\"");
}

TEST(Log, AJsonLineIsAnObjectWithEveryFieldAsText) {
  EXPECT_EQ(log::format_line(log::Format::kJson, kAt, "info", "started", {{"id", "a\n\"b\xff"}}),
            "{\"time\":\"2026-10-14T17:46:40.123Z\",\"level\":\"info\",\"message\":\"started\","
            "\"id\":\"a\\u000a\\\"b\xef\xbf\xbd\"}");
}

TEST(Log, AJsonLineHasNoControlCharacters) {
  const std::string line = log::format_line(log::Format::kJson, kAt, "info", "a",
                                            {{"id", "\x7f|\xc2\x9b|\xc2\x80|\xc2\xa0|\xc3\x9b"}});
  EXPECT_THAT(line, EndsWith("\"id\":\"\\u007f|\\u009b|\\u0080|\xc2\xa0|\xc3\x9b\"}"));
}

TEST(Log, AJsonLineStaysWholeHoweverLongItsValuesAre) {
  for (const char filling : {'x', '\x01', '\xff'}) {
    const std::string line = log::format_line(
        log::Format::kJson, kAt, "info", "long",
        {{"a", std::string(100'000, filling)}, {"b", "short"}, {"c", std::string(5'000, filling)}});
    EXPECT_LE(line.size(), log::kLongestLine);
    EXPECT_THAT(line, EndsWith(",\"cut\":true}"));
    EXPECT_THAT(line, HasSubstr("\"b\":\"short\""));
    EXPECT_EQ(std::count(line.begin(), line.end(), '"') % 2, 0);
  }
}

}  // namespace
}  // namespace glovebox
