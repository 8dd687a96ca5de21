#include "base/log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <string>

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

TEST(Log, AReaderThatDoesNotReadBlocksNothingAndSeesHowMuchItMissed) {
  CapturedLog captured;
  // More than a pipe holds; with a write that waits the test would not end.
  for (int i = 0; i < 2000; ++i) log::warn("a line", {{"text", std::string(100, 'x')}});
  const std::string kept = captured.read_all();
  EXPECT_THAT(kept, StartsWith("glovebox warn: a line"));
  EXPECT_THAT(kept, EndsWith("x\"\n"));
  const auto lines = std::count(kept.begin(), kept.end(), '\n');
  log::warn("the next");
  EXPECT_EQ(captured.read_all(),
            "glovebox warn: the log's reader was too slow: lines were dropped count=\"" +
                std::to_string(2000 - lines) + "\"\nglovebox warn: the next\n");
  log::warn("after that");
  EXPECT_EQ(captured.read_all(), "glovebox warn: after that\n");
}

TEST(Log, ALongLineIsCutToWhatAPipeTakesAtOnce) {
  CapturedLog captured;
  log::warn("long", {{"text", std::string(100'000, 'x')}});
  const std::string line = captured.read_all();
  EXPECT_EQ(line.size(), static_cast<std::size_t>(PIPE_BUF));
  EXPECT_THAT(line, EndsWith("x...\n"));
}

}  // namespace
}  // namespace glovebox
