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
