#include "http/chunks.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::http {
namespace {

struct Decoded {
  std::string content;
  std::string rest;
  bool is_done = false;
  bool is_malformed = false;
};

// In pieces of `piece` bytes.
Decoded decode(std::string_view bytes, std::size_t piece) {
  ChunkDecoder decoder;
  Decoded out;
  while (!bytes.empty() && !decoder.is_done() && !decoder.is_malformed()) {
    std::string part(bytes.substr(0, piece));
    const ChunkDecoder::Step step = decoder.decode(part.data(), part.size());
    EXPECT_LE(step.content, step.used);
    out.content += part.substr(0, step.content);
    bytes.remove_prefix(step.used);
  }
  out.rest = bytes;
  out.is_done = decoder.is_done();
  out.is_malformed = decoder.is_malformed();
  return out;
}

TEST(Chunks, ComeApartHoweverTheyArrive) {
  const std::string bytes =
      "5\r\nhello\r\n1;name=value\r\n \r\nA \r\n0123456789\r\n000\r\nTrailer: x\r\n\r\nGET /next";
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    const Decoded got = decode(bytes, piece);
    EXPECT_TRUE(got.is_done) << piece;
    EXPECT_EQ(got.content, "hello 0123456789") << piece;
    EXPECT_EQ(got.rest, "GET /next") << piece;
  }
}

class WrongChunks : public ::testing::TestWithParam<std::string> {};

TEST_P(WrongChunks, AreRefusedHoweverTheyArrive) {
  for (const std::size_t piece : {std::size_t{1}, std::size_t{3}, GetParam().size()}) {
    EXPECT_TRUE(decode(GetParam(), piece).is_malformed) << GetParam();
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrongChunks,
                         ::testing::Values("\r\n", "x\r\n", "-1\r\n", "+1\r\na", "0x5\r\nhello",
                                           " 5\r\nhello", "5\nhello", "5\r\nhelloX\r\n",
                                           "5\r\nhello\n0\r\n", "5\rXhello", "1234567890abcdef\r\n",
                                           "0\r\n\n", "0\r\n\rX", "0\r\nA: b\nC: d\r\n\r\n",
                                           "1;a\nb\r\nx", "5;" + std::string(5000, 'x'),
                                           "5" + std::string(5000, ' '),
                                           "0\r\nA: " + std::string(20'000, 'x')));

TEST(Chunks, ALargeSizeIsJustALargeSize) {
  ChunkDecoder decoder;
  std::string bytes = "fffffffffffffff\r\nabc";
  const ChunkDecoder::Step step = decoder.decode(bytes.data(), bytes.size());
  EXPECT_EQ(step.content, 3u);
  EXPECT_EQ(bytes.substr(0, 3), "abc");
  EXPECT_FALSE(decoder.is_done() || decoder.is_malformed());
}

TEST(Chunks, ExtensionsAndTrailersMayBeAsLongAsTheirLimits) {
  const auto with_extension = [](std::size_t size) {
    return decode("1;" + std::string(size, 'x') + "\r\na\r\n0\r\n\r\n", 100);
  };
  EXPECT_TRUE(with_extension(4096).is_done);
  EXPECT_TRUE(with_extension(4097).is_malformed);
  const auto with_trailer = [](std::size_t size) {
    return decode("0\r\n" + std::string(size, 'x') + "\r\n\r\n", 100);
  };
  EXPECT_TRUE(with_trailer(16'384).is_done);
  EXPECT_TRUE(with_trailer(16'385).is_malformed);
}

TEST(Chunks, OnlyATabIsAllowedOfControlCharacters) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\r' || byte == '\n') continue;  // end the line
    const bool is_control = (byte < 0x20 && byte != '\t') || byte == 0x7F;
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(decode("1;" + text + "\r\na\r\n0\r\n\r\n", 100).is_malformed, is_control) << byte;
    EXPECT_EQ(decode("0\r\nA: " + text + "\r\n\r\n", 100).is_malformed, is_control) << byte;
  }
}

TEST(Chunks, LinesSayTheirSizeInHex) {
  EXPECT_EQ(ChunkLine(1).text(), "1\r\n");
  EXPECT_EQ(ChunkLine(65536).text(), "10000\r\n");
  EXPECT_EQ(ChunkLine(SIZE_MAX).text(), "ffffffffffffffff\r\n");
}

}  // namespace
}  // namespace glovebox::http
