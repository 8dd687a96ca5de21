#include "http/byte_range.h"

#include <gtest/gtest.h>

namespace glovebox::http {
namespace {

std::optional<ByteSpan> part(std::string_view header, std::uint64_t total) {
  const auto range = parse_range(header);
  if (!range) return ByteSpan{0, total};  // the whole
  return span_of(*range, total);
}

TEST(ByteRange, IsAPartOfTheWhole) {
  EXPECT_EQ(part("bytes=0-0", 10), (ByteSpan{0, 1}));
  EXPECT_EQ(part("bytes=2-4", 10), (ByteSpan{2, 3}));
  EXPECT_EQ(part("bytes=3-3", 10), (ByteSpan{3, 1}));
  EXPECT_EQ(part("bytes=9-", 10), (ByteSpan{9, 1}));
  EXPECT_EQ(part("bytes=2-", 10), (ByteSpan{2, 8}));
  EXPECT_EQ(part("bytes=9-99", 10), (ByteSpan{9, 1}));
  EXPECT_EQ(part("bytes=-3", 10), (ByteSpan{7, 3}));
  EXPECT_EQ(part("bytes=-99", 10), (ByteSpan{0, 10}));
  EXPECT_EQ(part("bytes=0-18446744073709551615", 10), (ByteSpan{0, 10}));
}

TEST(ByteRange, IsNothingBehindTheEnd) {
  EXPECT_EQ(part("bytes=10-", 10), std::nullopt);
  EXPECT_EQ(part("bytes=18446744073709551615-", 10), std::nullopt);
  EXPECT_EQ(part("bytes=0-", 0), std::nullopt);
  EXPECT_EQ(part("bytes=-0", 10), std::nullopt);
  EXPECT_EQ(part("bytes=-5", 0), std::nullopt);
}

TEST(ByteRange, IsIgnoredWhenItIsNoneOrSeveral) {
  for (const char* header : {"", "bytes", "bytes=", "bytes=5", "bytes=-", "bytes=a-b", "bytes=5-2",
                             "bytes=0-1,3-4", "lines=1-2", "bytes= 1-2", "bytes=1-2 ", "bytes=--1",
                             "bytes=+1-2", "bytes=1-18446744073709551616"}) {
    EXPECT_FALSE(parse_range(header).has_value()) << header;
  }
}

}  // namespace
}  // namespace glovebox::http
