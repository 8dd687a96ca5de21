#include "wire/byte_codec.h"

#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

std::vector<std::byte> written(const std::vector<std::string>& texts) {
  ByteWriter to;
  to.texts(texts);
  return to.take();
}

TEST(ByteReader, TakesATextUpToItsBound) {
  ByteWriter to;
  to.text("abc");
  const auto bytes = to.take();
  ByteReader exact(bytes);
  EXPECT_EQ(exact.text(3), "abc");
  EXPECT_TRUE(exact.finished());
  ByteReader small(bytes);
  EXPECT_EQ(small.text(2), "");
  EXPECT_FALSE(small.good());
}

TEST(ByteReader, TakesAListUpToItsBounds) {
  const auto bytes = written({"ab", "c"});
  ByteReader exact(bytes);
  EXPECT_EQ(exact.texts(2, 2), (std::vector<std::string>{"ab", "c"}));
  EXPECT_TRUE(exact.finished());
  ByteReader fewer(bytes);
  EXPECT_TRUE(fewer.texts(1, 2).empty());
  EXPECT_FALSE(fewer.good());
  ByteReader shorter(bytes);
  shorter.texts(2, 1);
  EXPECT_FALSE(shorter.good());
}

TEST(ByteReader, EmptyTextsAreTexts) {
  const auto bytes = written({"", "", ""});
  ByteReader from(bytes);
  EXPECT_EQ(from.texts(3, 0).size(), 3u);
  EXPECT_TRUE(from.finished());
}

TEST(ByteReader, StaysFailed) {
  const std::byte bytes[] = {std::byte{1}, std::byte{2}};
  ByteReader from(bytes);
  EXPECT_EQ(from.number<std::uint32_t>(), 0u);
  EXPECT_EQ(from.number<std::uint8_t>(), 0u);
  EXPECT_FALSE(from.good());
  EXPECT_FALSE(from.finished());
}

}  // namespace
}  // namespace glovebox::wire
