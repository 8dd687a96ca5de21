#include "client/copy/copy_endpoint.h"

#include <gtest/gtest.h>

namespace glovebox::client {
namespace {

constexpr const char* kId = "sbabcdefghij0123456789";

TEST(CopyEndpoint, TellsASandboxFromAPath) {
  EXPECT_EQ(parse_copy_endpoint(std::string(kId) + ":/tmp/x").sandbox, kId);
  EXPECT_EQ(parse_copy_endpoint(std::string(kId) + ":/tmp/x").path, "/tmp/x");
  EXPECT_EQ(parse_copy_endpoint(std::string(kId) + ":").path, ".");
  EXPECT_EQ(parse_copy_endpoint("./" + std::string(kId) + ":/tmp/x").sandbox, "");
  EXPECT_EQ(parse_copy_endpoint("dev-1:b").sandbox, "dev-1");
  EXPECT_EQ(parse_copy_endpoint("dev-1:b").path, "b");
  for (const char* local : {"./a:b", "a/b:c", "/a:b", ":b", "-:b", "..:b", "a b:c", "a"}) {
    EXPECT_EQ(parse_copy_endpoint(local).sandbox, "") << local;
    EXPECT_EQ(parse_copy_endpoint(local).path, local);
  }
}

TEST(CopyEndpoint, TakesTheLastName) {
  EXPECT_EQ(base_name("/a/b"), "b");
  EXPECT_EQ(base_name("b/"), "b");
  EXPECT_EQ(base_name("/"), ".");
  EXPECT_EQ(base_name(""), ".");
}

TEST(CopyEndpoint, RefusesPathsThatLeadOutside) {
  for (const char* good : {"a", "a/b", "..a", "a..", "...", "a b/\n"}) {
    EXPECT_TRUE(is_plain_relative(good)) << good;
  }
  for (const char* bad : {"", "/", "/a", "..", "a/..", "../a", "a//b", "a/", ".", "a/./b"}) {
    EXPECT_FALSE(is_plain_relative(bad)) << bad;
  }
  EXPECT_FALSE(is_plain_relative(std::string_view("a\0b", 3)));
}

}  // namespace
}  // namespace glovebox::client
