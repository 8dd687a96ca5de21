#include "images/image_name.h"

#include <gtest/gtest.h>

namespace glovebox::images {
namespace {

TEST(ImageName, HasOneSpelling) {
  EXPECT_EQ(*parse_image_name("python"), "python:latest");
  EXPECT_EQ(*parse_image_name("python:3.13-slim"), "python:3.13-slim");
  EXPECT_EQ(*parse_image_name("docker.io/library/python:3"), "python:3");
  EXPECT_EQ(*parse_image_name("docker.io/team/base"), "team/base:latest");
  EXPECT_EQ(*parse_image_name("registry.example:5000/team/base:A_1"),
            "registry.example:5000/team/base:A_1");
  EXPECT_EQ(*parse_image_name("localhost/x:1"), "localhost/x:1");
}

TEST(ImageName, SaysWhereARegistryHasIt) {
  const std::string digits(64, 'a');
  const auto python = parse_image_reference("python");
  ASSERT_TRUE(python.has_value());
  EXPECT_EQ(*python,
            (ImageReference{"python:latest", "docker.io", "library/python", "latest", ""}));
  EXPECT_EQ(*parse_image_reference("team/base:2"),
            (ImageReference{"team/base:2", "docker.io", "team/base", "2", ""}));
  EXPECT_EQ(*parse_image_reference("registry.example:5000/a/b/c"),
            (ImageReference{"registry.example:5000/a/b/c:latest", "registry.example:5000", "a/b/c",
                            "latest", ""}));
  EXPECT_EQ(*parse_image_reference("python:3@sha256:" + digits),
            (ImageReference{"python@sha256:" + digits, "docker.io", "library/python", "", digits}));
}

TEST(ImageName, ADigestIsKnownAsOne) {
  const std::string name = "base@sha256:" + std::string(64, '0');
  EXPECT_EQ(*parse_image_name(name), name);
  EXPECT_TRUE(has_digest(name));
  EXPECT_FALSE(has_digest("base:1"));
  for (const std::string& bad :
       {"x@sha256:" + std::string(64, 'A'), "x@sha512:" + std::string(64, 'a'),
        "@sha256:" + std::string(64, 'a'), "x@y@sha256:" + std::string(64, 'a')}) {
    EXPECT_FALSE(parse_image_name(bad)) << bad;
  }
}

TEST(ImageName, RefusesWhatIsNone) {
  for (const char* bad :
       {"", ":", ":1", "x:", "X", "a b", "/x", "x/", "a//b", "../x", "x:1:2", "-x", "x:.1",
        "x@sha256:00", "host:99999999/x", "a/b:c/d", "x\n", "x:\xc3\xa4"}) {
    EXPECT_FALSE(parse_image_name(bad)) << bad;
  }
  EXPECT_FALSE(parse_image_name(std::string(300, 'a')));
}

TEST(ImageName, IsNeverWhatAnIdCouldBe) {
  for (const char* id : {"deadbeef", "deadbeef:latest", "0123456789abcdef0123456789abcdef:1",
                         "docker.io/library/deadbeef", "docker.io/00000000"}) {
    EXPECT_FALSE(parse_image_name(id)) << id;
  }
  for (const char* name : {"deadbee", "deadbeef-1", "team/deadbeef", "deadbeefg"}) {
    EXPECT_TRUE(parse_image_name(name)) << name;
  }
}

}  // namespace
}  // namespace glovebox::images
