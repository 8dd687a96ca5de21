#include "config/value.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::config {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

Result<Settings> with(const char* key, const std::string& text) {
  Settings settings;
  TRY_OK(assign(settings, *find_key(key), text));
  return settings;
}

std::string refusal(const char* key, const std::string& text) {
  const auto settings = with(key, text);
  return settings ? "accepted" : settings.error().message();
}

TEST(Value, AddressesAreNumericOrLocalhost) {
  for (const char* good :
       {"127.0.0.1:0", "0.0.0.0:65535", "[::1]:7070", "[::]:80", "localhost:1"}) {
    EXPECT_EQ(with("server.listen", good)->listen, good);
  }
  for (const char* bad : {"", "7070", ":7070", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536",
                          "127.0.0.1:-1", "127.0.0.1:7070x", "example.org:80", "::1:7070", "[]:1",
                          "[127.0.0.1]:1", "127.0.0.1: 7070"}) {
    EXPECT_THAT(refusal("server.listen", bad), HasSubstr("127.0.0.1:7070")) << bad;
  }
}

TEST(Value, Sizes) {
  EXPECT_EQ(with("server.max_body", "1.5M")->max_body, 3u << 19);
  for (const char* bad : {"", "lots", "-1", "1Q", "10", "1000T", "0x10000"}) {
    EXPECT_THAT(refusal("server.max_body", bad), HasSubstr("a size like")) << bad;
  }
}

TEST(Value, Durations) {
  EXPECT_EQ(with("server.stop_timeout", "2m")->stop_timeout, 120s);
  EXPECT_EQ(with("store.retention_age", "off")->retention_age, 0ms);
  for (const char* bad : {"", "soon", "-1s", "0", "off", "1ms", "2h", "5 s"}) {
    EXPECT_THAT(refusal("server.stop_timeout", bad), HasSubstr("a duration like")) << bad;
  }
}

TEST(Value, Numbers) {
  EXPECT_EQ(with("pools.max", "7")->pool_max, 7u);
  for (const char* bad :
       {"", "0", "10001", "-1", "1.5", "1e3", "seven", " 7", "7 ", "99999999999999999999"}) {
    EXPECT_THAT(refusal("pools.max", bad), HasSubstr("a whole number from 1 to 10000")) << bad;
  }
}

TEST(Value, Booleans) {
  EXPECT_TRUE(with("log.requests", "on")->log_requests);
  EXPECT_FALSE(with("log.requests", "false")->log_requests);
  for (const char* bad : {"", "maybe", "2", "TRUE "}) {
    EXPECT_THAT(refusal("log.requests", bad), HasSubstr("true or false")) << bad;
  }
}

TEST(Value, Choices) {
  EXPECT_EQ(with("log.level", "debug")->log_level, "debug");
  for (const char* bad : {"", "loud", "debug|info", "Debug"}) {
    EXPECT_THAT(refusal("log.level", bad), HasSubstr("one of debug, info, warn")) << bad;
  }
}

TEST(Value, Lists) {
  EXPECT_THAT(with("server.origins", " https://a.example , http://b ")->origins,
              ElementsAre("https://a.example", "http://b"));
  EXPECT_THAT(with("server.origins", " ")->origins, IsEmpty());
  EXPECT_THAT(refusal("server.origins", "a,,b"), HasSubstr("empty entry"));
  EXPECT_THAT(refusal("server.origins", "a b"), HasSubstr("blanks"));
}

TEST(Value, PathsBecomeAbsolute) {
  EXPECT_EQ(with("server.data_dir", "/a/./b/../c/")->data_dir, "/a/c");
  EXPECT_EQ(with("server.data_dir", "here")->data_dir.front(), '/');
  EXPECT_THAT(refusal("server.data_dir", "/a\nb"), HasSubstr("control characters"));
}

TEST(Value, TextHasNoControlCharacters) {
  EXPECT_EQ(with("server.user", "nobody")->user, "nobody");
  EXPECT_THAT(refusal("server.domain", "a\x1b[2J"), HasSubstr("control characters"));
}

TEST(CpuQuota, IsANumberOfCpus) {
  EXPECT_EQ(parse_cpu_quota("2"), 2000u);
  EXPECT_EQ(parse_cpu_quota("0.5"), 500u);
  EXPECT_EQ(parse_cpu_quota("1.2345"), 1234u);
  EXPECT_EQ(parse_cpu_quota("1024"), 1'024'000u);
  for (const char* wrong : {"", ".", "1.", ".5", "0", "0.001", "1025", "-1", "1e3", "1,5", "x",
                            "1.5.0", "99999", "0.1234567890", " 1"}) {
    EXPECT_FALSE(parse_cpu_quota(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace glovebox::config
