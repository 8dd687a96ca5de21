#include "http/server/listener.h"

#include <gtest/gtest.h>

#include "http/client/client.h"

namespace glovebox::http {
namespace {

TEST(Listener, SaysTheActualPort) {
  const Result<Listener> listener = open_listener("127.0.0.1:0");
  ASSERT_TRUE(listener.has_value()) << listener.error().message();
  EXPECT_GT(listener->port, 0);
  EXPECT_EQ(listener->address, "127.0.0.1:" + std::to_string(listener->port));
  EXPECT_TRUE(listener->is_loopback);
}

TEST(Listener, TakesEveryAddress) {
  const Result<Listener> listener = open_listener(":0");
  ASSERT_TRUE(listener.has_value()) << listener.error().message();
  EXPECT_FALSE(listener->is_loopback);
}

TEST(Listener, RefusesNamesAndNonsense) {
  for (const std::string_view text :
       {"example.com:80", "127.0.0.1", "::1:80", "127.0.0.1:x", "127.0.0.1:70000", "[::1]"}) {
    const Result<Listener> listener = open_listener(text);
    ASSERT_FALSE(listener.has_value()) << text;
    EXPECT_EQ(listener.error().code(), Errc::kInvalidArgument) << text;
  }
}

TEST(Listener, APortInUseIsAnError) {
  const Result<Listener> first = open_listener("127.0.0.1:0");
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(open_listener(first->address).has_value());
}

TEST(Url, IsTakenApart) {
  const Result<Url> url = parse_url("https://[::1]:7443/prefix/");
  ASSERT_TRUE(url.has_value());
  EXPECT_TRUE(url->tls);
  EXPECT_EQ(url->host, "::1");
  EXPECT_EQ(url->port, 7443);
  EXPECT_EQ(url->path, "/prefix");
  EXPECT_EQ(url->authority(), "[::1]:7443");
  EXPECT_EQ(parse_url("http://localhost")->port, 80);
}

TEST(Url, RefusesWhatItCannotUse) {
  for (const std::string_view text :
       {"localhost:80", "ftp://x", "http://", "http://a:b", "http://a:0", "http://u@h",
        "http://[::1", "http://h?q", "http://h:80x", "http://[::1]80", "http://h#f", "http://a b",
        "http://a\x7f", "http://a\x1f", "http://a\xc3\xa4", "http://h:65536", "http://[h]",
        "http://[[::1]"}) {
    EXPECT_FALSE(parse_url(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace glovebox::http
