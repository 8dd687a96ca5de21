#include "images/image_record.h"

#include <gtest/gtest.h>

#include "model/layer.h"

namespace glovebox::images {
namespace {

ImageRecord sample() {
  return {.project = "team",
          .names = {"python:3", "own/base:1"},
          .digest = std::string(64, 'a'),
          .config = {.user = "app",
                     .workdir = "/srv",
                     .env = {"A=\"1\""},
                     .entrypoint = {"/e"},
                     .cmd = {"c", ""}},
          .layers = 3,
          .devices = 2,
          .capabilities = 1,
          .is_public = true,
          .is_pinned = true};
}

TEST(ImageRecord, ComesBackAsItWas) {
  const auto note = image_note(sample());
  ASSERT_TRUE(note);
  EXPECT_TRUE(is_image_note(*note));
  EXPECT_EQ(*parse_image_note(*note), sample());
  EXPECT_EQ(*parse_image_note(*image_note({.project = "p"})), ImageRecord{.project = "p"});
}

TEST(ImageRecord, IsNotAPackagesManifest) {
  EXPECT_FALSE(is_image_note(R"({"form":1})"));
  EXPECT_FALSE(parse_image_note(R"({"form":1})"));
  EXPECT_FALSE(parse_image_note(""));
}

TEST(ImageRecord, RefusesWhatIsMalformed) {
  for (const char* bad :
       {"", "[]", "{}", R"({"project":""})", R"({"project":"p","more":1})",
        R"({"project":"p","names":["x",1]})", R"({"project":"p","public":"yes"})"}) {
    EXPECT_FALSE(parse_image_note(std::string(kImageNote) + bad)) << bad;
  }
}

TEST(ImageRecord, RefusesWhatDoesNotFitIntoANote) {
  ImageRecord record = sample();
  record.config.env = {"A=" + std::string(kMaxLayerNote, 'x')};
  EXPECT_FALSE(image_note(record));
}

}  // namespace
}  // namespace glovebox::images
