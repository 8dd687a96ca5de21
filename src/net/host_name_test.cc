#include "net/host_name.h"

#include <gtest/gtest.h>

namespace glovebox::net {
namespace {

HostName name(std::string_view text) {
  auto parsed = HostName::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : *HostName::parse("failed.example");
}

TEST(HostName, HasOneForm) {
  EXPECT_EQ(name("PyPI.org").str(), "pypi.org");
  EXPECT_EQ(name("pypi.org.").str(), "pypi.org");
  EXPECT_EQ(name("PYPI.ORG."), name("pypi.org"));
  EXPECT_EQ(name("_dmarc.a-b.example").str(), "_dmarc.a-b.example");
  EXPECT_EQ(name("xn--bcher-kva.example").str(), "xn--bcher-kva.example");
  EXPECT_EQ(name("localhost").str(), "localhost");
  EXPECT_EQ(name("4.3.2.1.in-addr.arpa").str(), "4.3.2.1.in-addr.arpa");
  EXPECT_EQ(name("1e100.net").str(), "1e100.net");
  EXPECT_EQ(name("0x7f.example").str(), "0x7f.example");
  EXPECT_EQ(name("127.0.0.1.nip.io").str(), "127.0.0.1.nip.io");
}

TEST(HostName, TakesEveryLetterAndDigit) {
  EXPECT_EQ(name("ABCDEFGHIJKLMNOPQRSTUVWXYZ.abcdefghijklmnopqrstuvwxyz.0123456789-_x").str(),
            "abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.0123456789-_x");
  // Their neighbours in ASCII are no letters and no digits.
  for (const char* text : {"a/b.org", "a:b.org", "a@b.org", "a[b.org", "a`b.org", "a{b.org"}) {
    EXPECT_FALSE(HostName::parse(text)) << text;
  }
}

TEST(HostName, RefusesWhatSomeProgramsTakeForAnAddress) {
  for (const char* text : {"127.0.0.1",    "127.0.0.1.",
                           "127.1",        "127.0.1",
                           "2130706433",   "0",
                           "00",           "0x7f000001",
                           "0X7F.1",       "0x7f.0x0.0x0.0x1",
                           "017700000001", "0177.0.0.1",
                           "2852039166",   "1.2.3.4.5",
                           "example.0x",   "0x",
                           "example.0xff", "example.123",
                           "a.b.c.09",     "127.0.0.0x1"}) {
    EXPECT_FALSE(HostName::parse(text)) << text;
  }
}

TEST(HostName, RefusesWhatIsNoName) {
  for (const char* text :
       {"",    ".",   "..",  "a..b", ".a",   "a..",  "a b",   "a\tb", "a/b",     "a:b",
        "a@b", "*.a", "a.*", "*",    "a%00", "a\\b", "[::1]", "::1",  "fe80::1", "a,b",
        "a;b", "a\n", " a",  "a ",   "a#",   "a?b",  "a'b",   "a\"b"}) {
    EXPECT_FALSE(HostName::parse(text)) << text;
  }
  EXPECT_FALSE(HostName::parse(std::string_view("pypi.org\0", 9)));
  EXPECT_FALSE(HostName::parse(std::string_view("pypi.org\0.evil.example", 22)));
  EXPECT_FALSE(HostName::parse(std::string_view("\0", 1)));
}

TEST(HostName, RefusesNonAsciiAndSuggestsXn) {
  // The last three are taken for "pypi.org" by programs that fold or normalise: Kelvin-like
  // letters, a full-width dot, a soft hyphen.
  for (const char* text :
       {"bücher.example", "pypı.org", "pypi。org", "py\xc2\xadpi.org", "\xff.a", "a\x80"}) {
    const auto parsed = HostName::parse(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_NE(parsed.error().message().find("xn--"), std::string::npos);
  }
}

TEST(HostName, KeepsTheLengthsOfTheDns) {
  const std::string label(63, 'a');
  EXPECT_TRUE(HostName::parse(label + ".example"));
  EXPECT_FALSE(HostName::parse(label + "a.example"));
  EXPECT_FALSE(HostName::parse("example." + label + "a"));
  const std::string longest = label + '.' + label + '.' + label + '.' + std::string(61, 'b');
  ASSERT_EQ(longest.size(), 253u);
  EXPECT_TRUE(HostName::parse(longest));
  EXPECT_TRUE(HostName::parse(longest + '.'));
  EXPECT_FALSE(HostName::parse(longest + 'b'));
}

TEST(HostName, IsBelowADomainOnlyAtADot) {
  EXPECT_TRUE(name("a.example.com").is_below(name("example.com")));
  EXPECT_TRUE(name("a.b.example.com").is_below(name("example.com")));
  EXPECT_TRUE(name("example.com").is_below(name("com")));
  EXPECT_FALSE(name("example.com").is_below(name("example.com")));
  EXPECT_FALSE(name("badexample.com").is_below(name("example.com")));
  EXPECT_FALSE(name("example.com").is_below(name("a.example.com")));
  EXPECT_FALSE(name("example.com.evil.org").is_below(name("example.com")));
}

}  // namespace
}  // namespace glovebox::net
