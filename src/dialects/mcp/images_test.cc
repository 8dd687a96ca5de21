#include "dialects/mcp/images.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::mcp {
namespace {

using namespace std::string_literals;

const std::string kHead = "\x89PNG\r\n\x1a\n";

std::string chunk(const std::string& kind, const std::string& data) {
  std::string made;
  for (const unsigned shift : {24u, 16u, 8u, 0u}) {
    made += static_cast<char>(data.size() >> shift & 0xffu);
  }
  return made + kind + data + "CRC.";
}

std::string png(char width = 1) {
  return kHead + chunk("IHDR", "\0\0\0"s + width + "\0\0\0\1\x8\0\0\0\0"s) + chunk("IDAT", "x") +
         chunk("IEND", "");
}

// SOI, a frame of 1 by 1, the beginning of its pixels, EOI.
const std::string kJpeg =
    "\xff\xd8\xff\xc0\0\x0b\x8\0\1\0\1\1\1\x11\0\xff\xda\0\x8\1\1\0\0\x3f\0pixels\xff\xd9"s;
const std::string kGif =
    "GIF89a\1\0\1\0\x80\0\0......!\xf9\4\0\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;"s;
const std::string kWebp = "RIFF\x10\0\0\0WEBPVP8L\3\0\0\0abc\0"s;

TEST(Images, TypeIsFoundByTheFirstBytes) {
  EXPECT_EQ(image_type("\x89PNG\r\n\x1a\nrest"), "image/png");
  EXPECT_EQ(image_type("\xff\xd8\xff\xe0"), "image/jpeg");
  EXPECT_EQ(image_type("GIF89a"), "image/gif");
  EXPECT_EQ(image_type("RIFF1234WEBPVP8 "), "image/webp");
  EXPECT_EQ(image_type("<svg>"), "");
  EXPECT_EQ(image_type(""), "");
}

TEST(Images, CompleteImagesAreAccepted) {
  EXPECT_TRUE(is_image(png(), "image/png"));
  EXPECT_TRUE(is_image(kJpeg, "image/jpeg"));
  EXPECT_TRUE(is_image(kJpeg + "of the camera", "image/jpeg"));
  EXPECT_TRUE(is_image(kGif, "image/gif"));
  EXPECT_TRUE(is_image(kWebp, "image/webp"));
}

TEST(Images, TruncatedImagesAreRefused) {
  for (const auto& [whole, type] : {std::pair<std::string, const char*>{png(), "image/png"},
                                    {kJpeg, "image/jpeg"},
                                    {kGif, "image/gif"},
                                    {kWebp, "image/webp"}}) {
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(is_image(whole.substr(0, size), type)) << type << " " << size;
    }
    EXPECT_FALSE(is_image(whole, type == std::string("image/png") ? "image/gif" : "image/png"));
  }
}

TEST(Images, BytesThatOnlyBeginLikeAnImageAreRefused) {
  EXPECT_FALSE(is_image(kHead + "<script>", "image/png"));
  EXPECT_FALSE(is_image(kHead + std::string(5000, '\0'), "image/png"));
  EXPECT_FALSE(is_image(png(0), "image/png"));
  EXPECT_FALSE(is_image(png() + "<script>", "image/png"));
  EXPECT_FALSE(is_image(kHead + chunk("IEND", ""), "image/png"));
  EXPECT_FALSE(is_image("\xff\xd8\xff<script>\xff\xd9", "image/jpeg"));
  EXPECT_FALSE(is_image("\xff\xd8\xff\xd9", "image/jpeg"));
  EXPECT_FALSE(is_image("GIF89a<script>;", "image/gif"));
  EXPECT_FALSE(is_image(kGif + ";", "image/gif"));
  EXPECT_FALSE(is_image("RIFF\4\0\0\0WEBP"s, "image/webp"));
  EXPECT_FALSE(is_image(kWebp + "x", "image/webp"));
}

}  // namespace
}  // namespace glovebox::mcp
