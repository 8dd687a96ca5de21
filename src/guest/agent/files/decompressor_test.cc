// Decompression of streams, of every form and broken ones.
#include "guest/agent/files/decompressor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <string>

namespace glovebox::agent {
namespace {

using ::testing::HasSubstr;

std::string gzipped(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(text.size() + 1024, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd_of(const std::string& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string sample(std::size_t size) {
  std::string text;
  for (std::size_t i = 0; text.size() < size; ++i) text += std::to_string(i * 7919) + "\n";
  return text;
}

// In pieces of `piece` bytes, read in pieces of `at_once`.
Result<std::string> decompressed(const std::string& bytes, std::size_t piece = 333,
                                 std::size_t at_once = 1000) {
  std::size_t at = 0;
  Decompressor stream([&](char* to, std::size_t size) {
    const std::size_t some = std::min({size, bytes.size() - at, piece});
    std::copy_n(bytes.data() + at, some, to);
    at += some;
    return Result<std::size_t>(some);
  });
  std::string all;
  std::string buffer(at_once, '\0');
  while (true) {
    TRY(const std::size_t got, stream.read(buffer.data(), buffer.size()));
    if (got == 0) return all;
    all.append(buffer, 0, got);
  }
}

TEST(Decompressor, KnowsEveryFormByItsFirstBytes) {
  const std::string text = sample(700'000);
  for (const std::size_t piece : {1u, 333u, 1'000'000u}) {
    EXPECT_EQ(*decompressed(text, piece), text);
    EXPECT_EQ(*decompressed(gzipped(text), piece), text);
    EXPECT_EQ(*decompressed(zstd_of(text), piece), text);
  }
  EXPECT_EQ(*decompressed(gzipped(text), 50'000, 7), text);
  EXPECT_EQ(*decompressed(zstd_of(text), 50'000, 7), text);
}

TEST(Decompressor, PassesShortStreamsOn) {
  for (const char* text : {"", "a", "\x1f", "\x28\xb5\x2f"}) {
    EXPECT_EQ(*decompressed(text), text);
  }
}

TEST(Decompressor, ReadsSeveralMembersAndFrames) {
  EXPECT_EQ(*decompressed(gzipped("one ") + gzipped("") + gzipped("two")), "one two");
  EXPECT_EQ(*decompressed(zstd_of("one ") + zstd_of("two")), "one two");
}

TEST(Decompressor, RefusesWhatIsCutOrDamaged) {
  const std::string text = sample(100'000);
  for (const std::string& whole : {gzipped(text), zstd_of(text)}) {
    for (const std::size_t size : {5ul, 20ul, whole.size() / 2, whole.size() - 1}) {
      const auto cut = decompressed(whole.substr(0, size));
      ASSERT_FALSE(cut) << size;
      EXPECT_THAT(cut.error().message(), HasSubstr("malformed compressed data"));
    }
    std::string damaged = whole;
    damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
    const auto outcome = decompressed(damaged);
    EXPECT_TRUE(!outcome || *outcome != text);
    EXPECT_FALSE(decompressed(whole + "something else"));
  }
}

}  // namespace
}  // namespace glovebox::agent
