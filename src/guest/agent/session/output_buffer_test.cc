#include "guest/agent/session/output_buffer.h"

#include <gtest/gtest.h>

namespace glovebox::agent {
namespace {

std::string pattern(std::size_t from, std::size_t count) {
  std::string text;
  for (std::size_t i = from; i < from + count; ++i) text.push_back(static_cast<char>(i * 7 % 251));
  return text;
}

TEST(OutputBuffer, KeepsWhatWasAddedWithItsOffset) {
  OutputBuffer buffer(10000);
  buffer.add("abc");
  buffer.add("def");
  EXPECT_EQ(buffer.begin(), 0u);
  EXPECT_EQ(buffer.end(), 6u);
  EXPECT_EQ(buffer.copy(0, 100), "abcdef");
  EXPECT_EQ(buffer.copy(2, 3), "cde");
  EXPECT_EQ(buffer.copy(6, 3), "");
}

TEST(OutputBuffer, LosesTheOldestOnly) {
  constexpr std::size_t kMost = 9000;  // not a power of two: the ring's end is not a page's
  OutputBuffer buffer(kMost);
  std::size_t added = 0;
  for (std::size_t size = 1; added < 200'000; size = size * 5 % 8999 + 1) {
    buffer.add(pattern(added, size));
    added += size;
    ASSERT_EQ(buffer.end(), added);
    ASSERT_LE(buffer.end() - buffer.begin(), kMost);
    ASSERT_EQ(buffer.end() - buffer.begin(), std::min(added, kMost));
    ASSERT_EQ(buffer.copy(buffer.begin(), kMost),
              pattern(buffer.begin(), buffer.end() - buffer.begin()));
  }
}

TEST(OutputBuffer, RoomIsWhatIsNotNeeded) {
  OutputBuffer buffer(100);
  EXPECT_EQ(buffer.room(0), 100u);
  buffer.add(std::string(60, 'x'));
  EXPECT_EQ(buffer.room(0), 40u);
  EXPECT_EQ(buffer.room(50), 90u);
  EXPECT_EQ(buffer.room(1000), 100u);  // no more is needed than there is
  buffer.add(std::string(40, 'y'));
  EXPECT_EQ(buffer.room(0), 0u);
  buffer.add(std::string(10, 'z'));
  EXPECT_EQ(buffer.begin(), 10u);
  EXPECT_EQ(buffer.room(0), 0u);
}

TEST(OutputBuffer, TakesMemoryOnlyAsNeeded) {
  OutputBuffer buffer(256 * 1024);
  EXPECT_EQ(buffer.memory(), 0u);
  buffer.add("x");
  EXPECT_LE(buffer.memory(), 4096u);
  buffer.add(std::string(200 * 1024, 'x'));
  EXPECT_LE(buffer.memory(), 256u * 1024);
  buffer.drop_all();
  EXPECT_EQ(buffer.memory(), 0u);
  EXPECT_EQ(buffer.begin(), 200u * 1024 + 1);
  buffer.add("more");
  EXPECT_EQ(buffer.copy(200 * 1024 + 1, 10), "more");
}

}  // namespace
}  // namespace glovebox::agent
