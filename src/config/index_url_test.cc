#include "config/index_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::config {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(IndexUrl, IsTakenApart) {
  const auto url = parse_index_url("https://User:p%40ss@PyPI.corp:8443/root/simple/");
  ASSERT_TRUE(url) << url.error().message();
  EXPECT_EQ(url->text, "https://User:p%40ss@PyPI.corp:8443/root/simple/");
  EXPECT_EQ(url->shown, "https://pypi.corp:8443/root/simple");
  EXPECT_EQ(url->host, "pypi.corp:8443");
  EXPECT_EQ(url->path, "/root/simple");
  EXPECT_TRUE(url->has_user);
  EXPECT_EQ(url->rule.text(), "pypi.corp:8443");
}

TEST(IndexUrl, ThePortIsTheSchemesOrItsOwn) {
  const auto rule = [](const char* text) {
    const auto url = parse_index_url(text);
    return url ? url->rule.text() : "wrong: " + url.error().message();
  };
  EXPECT_EQ(rule("https://pypi.org/simple"), "pypi.org:443");
  EXPECT_EQ(rule("http://mirror/simple"), "mirror:80");
  EXPECT_EQ(rule("http://mirror:3141"), "mirror:3141");
  EXPECT_EQ(rule("http://10.0.0.7:3141/root/pypi/+simple/"), "10.0.0.7/32:3141");
  EXPECT_EQ(rule("https://203.0.113.80/simple"), "203.0.113.80/32:443");
  EXPECT_EQ(rule("https://[2001:db8::7]/simple"), "[2001:db8::7/128]:443");
  EXPECT_EQ(rule("https://[2001:db8::7]:8443/simple"), "[2001:db8::7/128]:8443");
  EXPECT_EQ(rule("https://user@mirror/simple"), "mirror:443");
  EXPECT_EQ(rule("https://a@b@mirror/simple"), "mirror:443");
}

TEST(IndexUrl, WhatIsNoneIsRefusedAndNotRepeated) {
  for (const char* text : {"",
                           "pypi.org",
                           "ftp://pypi.org/",
                           "https://",
                           "https:///simple",
                           "file:///etc/passwd",
                           "https://secret@/simple",
                           "https://secret.example:0/",
                           "https://secret.example:70000/",
                           "https://secret.example:/",
                           "https://secret.example: 443/",
                           "https://se cret.example/",
                           "https://secret.example/\nextra-index-url = http://evil/",
                           "https://secret.example/#x",
                           "https://secret.example/?x",
                           "https://${SECRET}@host/",
                           "https://[secret]/",
                           "https://[10.0.0.1]/",
                           "https://[2001:db8::7/",
                           "https://[2001:db8::7]x/",
                           "https://*.secret.example/",
                           "https://127.1/",
                           "https://secret.example/\"x",
                           "https://s\303\251cret.example/"}) {
    const auto url = parse_index_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error().message(), Not(HasSubstr("secret"))) << text;
  }
  EXPECT_FALSE(parse_index_url("https://a.example/" + std::string(3000, 'a')));
}

TEST(IndexUrl, LoopbackAndWhatIsNobodysIsRefusedWithAWordWhy) {
  for (const char* text :
       {"http://127.0.0.1:3141/simple", "http://localhost:3141/", "http://[::1]/",
        "http://pypi.localhost/", "http://[::ffff:127.0.0.1]/"}) {
    const auto url = parse_index_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_THAT(url.error().message(), HasSubstr("loopback, which a sandbox cannot reach")) << text;
  }
  for (const char* text : {"http://169.254.169.254/", "http://0.0.0.0/", "http://224.0.0.1/",
                           "http://[fe80::1]/", "http://255.255.255.255/"}) {
    EXPECT_FALSE(parse_index_url(text)) << text;
  }
}

TEST(FileHost, IsARuleForPort443UnlessItSaysAnother) {
  EXPECT_EQ(parse_file_host("Files.example.com")->text(), "files.example.com:443");
  EXPECT_EQ(parse_file_host("files.example.com:80")->text(), "files.example.com:80");
  EXPECT_EQ(parse_file_host("*.blob.example.com")->text(), "*.blob.example.com:443");
  EXPECT_EQ(parse_file_host("10.0.0.0/24:8080")->text(), "10.0.0.0/24:8080");
  for (const char* text : {"", "*", "*:443", "https://files.example.com", "localhost", "127.0.0.1",
                           "169.254.169.254", "a b"}) {
    EXPECT_FALSE(parse_file_host(text)) << text;
  }
  for (const char* text : {"a/b", "https://files.example.com", "a b", ""}) {
    const auto rule = parse_file_host(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_THAT(rule.error().message(), HasSubstr("a host name like files.example.com"));
  }
}

}  // namespace
}  // namespace glovebox::config
