#include "net/net_rule.h"

#include <gtest/gtest.h>

namespace glovebox::net {
namespace {

NetRule rule(std::string_view text) {
  auto parsed = NetRule::parse(text);
  EXPECT_TRUE(parsed.has_value()) << text;
  return parsed ? *parsed : *NetRule::parse("failed.example");
}
HostName name(std::string_view text) { return *HostName::parse(text); }
IpAddress ip(std::string_view text) { return *IpAddress::parse(text); }

TEST(NetRule, HasOneSpelling) {
  const std::pair<const char*, const char*> spellings[] = {
      {"pypi.org", "pypi.org"},
      {"PyPI.org.", "pypi.org"},
      {"pypi.org:443", "pypi.org:443"},
      {"pypi.org:443-443", "pypi.org:443"},
      {"pypi.org:1-65535", "pypi.org"},
      {"PYPI.org.:8000-8100", "pypi.org:8000-8100"},
      {"*.Example.com", "*.example.com"},
      {"*.example.com.:22", "*.example.com:22"},
      {"*", "*"},
      {"*:443", "*:443"},
      {"*:1-65535", "*"},
      {"192.0.2.0/24:22", "192.0.2.0/24:22"},
      {"192.0.2.1", "192.0.2.1/32"},
      {"192.0.2.1:80", "192.0.2.1/32:80"},
      {"2001:DB8::1", "2001:db8::1/128"},
      {"2001:db8::/32", "2001:db8::/32"},
      {"[2001:db8::/32]:443", "[2001:db8::/32]:443"},
      {"[2001:db8::1]", "2001:db8::1/128"},
      {"[2001:db8::1]:1-65535", "2001:db8::1/128"},
      {"::ffff:192.0.2.0/120", "192.0.2.0/24"},
      {"[::ffff:192.0.2.1]:80", "192.0.2.1/32:80"},
      {"::/0", "::/0"},
      {"0.0.0.0/0", "0.0.0.0/0"},
      {"_srv.example", "_srv.example"},
      {"localhost:1", "localhost:1"},
      {"localhost:9", "localhost:9"},
      {"localhost:9000-65535", "localhost:9000-65535"},
  };
  for (const auto& [text, canonical] : spellings) {
    EXPECT_EQ(rule(text).text(), canonical) << text;
    EXPECT_EQ(rule(canonical), rule(text)) << text;
  }
}

TEST(NetRule, RefusesWhatCouldBeReadInTwoWays) {
  for (const char* text : {"",
                           " ",
                           ":",
                           ":443",
                           "pypi.org:",
                           "pypi.org:0",
                           "pypi.org:65536",
                           "pypi.org:99999999999",
                           "pypi.org:-1",
                           "pypi.org:+443",
                           "pypi.org:0443",
                           "pypi.org:443-",
                           "pypi.org:-443",
                           "pypi.org:444-443",
                           "pypi.org:443-444-445",
                           "pypi.org:https",
                           "pypi.org:*",
                           "pypi.org:443 ",
                           " pypi.org",
                           "pypi.org,evil.example",
                           "https://pypi.org",
                           "pypi.org/simple",
                           "pypi.org:443/simple",
                           "user@pypi.org",
                           "*.",
                           "*.*",
                           "**",
                           "*.*.com",
                           "a.*.com",
                           "*a.com",
                           "a*",
                           "pypi.*",
                           "*.1.2.3.4",
                           "*.127.1",
                           "*pypi.org",
                           "127.1",
                           "0x7f000001",
                           "2130706433",
                           "0177.0.0.1",
                           "10.0.0.1/8",
                           "10.0.0.0/33",
                           "10.0.0.0/8:0",
                           "[10.0.0.0/8]:443",
                           "[pypi.org]",
                           "[*]:443",
                           "[]",
                           "[::1",
                           "::1]",
                           "[::1]443",
                           "[::1]:",
                           "[::1]x",
                           "[[::1]]",
                           "2001:db8::/32:443",
                           "2001:db8::1%eth0",
                           "[fe80::1%25eth0]:443",
                           "[::1]/128",
                           "bücher.example",
                           "*:*",
                           "*/0",
                           "1.2.3.4.",
                           "1.2.3.4.:443",
                           "!pypi.org",
                           "10.0.0.0-10.0.0.9"}) {
    EXPECT_FALSE(NetRule::parse(text)) << text;
  }
  EXPECT_FALSE(NetRule::parse(std::string_view("pypi.org\0", 9)));
  EXPECT_FALSE(NetRule::parse(std::string_view("10.0.0.0/8\0", 11)));
  EXPECT_FALSE(NetRule::parse(std::string_view("pypi.org:443\0", 13)));
  EXPECT_FALSE(NetRule::parse(std::string(1000, 'a')));
}

TEST(NetRule, SaysWhatToWriteInstead) {
  const auto why = [](std::string_view text) {
    const auto parsed = NetRule::parse(text);
    return parsed ? std::string() : parsed.error().message();
  };
  EXPECT_NE(why("https://pypi.org").find("not a URL"), std::string::npos);
  EXPECT_NE(why("2001:db8::/32:443").find("[2001:db8::/32]:443"), std::string::npos);
  EXPECT_NE(why("a.*.com").find("*.example.com"), std::string::npos);
  EXPECT_NE(why("bücher.example").find("xn--"), std::string::npos);
  EXPECT_NE(why("10.1.0.0/8").find("10.0.0.0/8"), std::string::npos);
  EXPECT_NE(why("a.b:0").find("1 to 65535"), std::string::npos);
  // A rule may have 320 bytes; in this one, the name is what is too long.
  EXPECT_NE(why(std::string(320, 'a')).find("253"), std::string::npos);
  EXPECT_EQ(why(std::string(321, 'a')), "the rule is too long");
}

TEST(NetRule, TheLongestOneIsTaken) {
  const std::string label(63, 'a');
  const std::string longest =
      "*." + label + '.' + label + '.' + label + '.' + std::string(61, 'b') + ":10000-65535";
  EXPECT_EQ(rule(longest).text(), longest);
}

TEST(NetRule, Matches) {
  EXPECT_TRUE(rule("pypi.org").matches(name("PYPI.org.")));
  EXPECT_FALSE(rule("pypi.org").matches(name("a.pypi.org")));
  EXPECT_TRUE(rule("*.pypi.org").matches(name("a.b.pypi.org")));
  EXPECT_FALSE(rule("*.pypi.org").matches(name("pypi.org")));
  EXPECT_FALSE(rule("*.pypi.org").matches(name("evilpypi.org")));
  EXPECT_TRUE(rule("*").matches(name("any.example")));
  EXPECT_TRUE(rule("*").matches(ip("1.2.3.4")));
  EXPECT_FALSE(rule("0.0.0.0/0").matches(name("any.example")));
  EXPECT_FALSE(rule("pypi.org").matches(ip("1.2.3.4")));
  EXPECT_FALSE(rule("*.org").matches(ip("1.2.3.4")));
  EXPECT_TRUE(rule("10.0.0.0/8").matches(ip("::ffff:10.2.3.4")));
  EXPECT_FALSE(rule("10.0.0.0/8").matches(ip("64:ff9b::10.2.3.4")));
}

TEST(NetRule, ARangeOfPortsHasItsEnds) {
  const PortRange ports = rule("a.example:80-443").ports;
  EXPECT_FALSE(ports.contains(79));
  EXPECT_TRUE(ports.contains(80));
  EXPECT_TRUE(ports.contains(443));
  EXPECT_FALSE(ports.contains(444));
  EXPECT_TRUE(ports.contains(ports));
  EXPECT_FALSE(ports.contains(PortRange{.first = 79, .last = 443}));
  EXPECT_FALSE(ports.contains(PortRange{.first = 80, .last = 444}));
  EXPECT_FALSE(ports.is_all());
  EXPECT_FALSE((PortRange{.first = 2, .last = 65535}).is_all());
  EXPECT_FALSE((PortRange{.first = 1, .last = 65534}).is_all());
}

TEST(NetRule, CoversEverythingThatAnotherMatches) {
  EXPECT_TRUE(rule("*").covers(rule("pypi.org:443")));
  EXPECT_TRUE(rule("*").covers(rule("10.0.0.0/8")));
  EXPECT_TRUE(rule("*").covers(rule("*")));
  EXPECT_TRUE(rule("*:443").covers(rule("*.pypi.org:443")));
  EXPECT_FALSE(rule("*:443").covers(rule("pypi.org")));
  EXPECT_TRUE(rule("*.org").covers(rule("pypi.org")));
  EXPECT_TRUE(rule("*.org").covers(rule("*.pypi.org")));
  EXPECT_TRUE(rule("*.org").covers(rule("*.org")));
  EXPECT_FALSE(rule("*.pypi.org").covers(rule("pypi.org")));
  EXPECT_FALSE(rule("*.pypi.org").covers(rule("*.org")));
  EXPECT_FALSE(rule("pypi.org").covers(rule("*.pypi.org")));
  EXPECT_FALSE(rule("pypi.org").covers(rule("*")));
  EXPECT_TRUE(rule("pypi.org:1-1000").covers(rule("pypi.org:443")));
  EXPECT_FALSE(rule("pypi.org:444-1000").covers(rule("pypi.org:443-500")));
  EXPECT_TRUE(rule("10.0.0.0/8").covers(rule("10.1.0.0/16:22")));
  EXPECT_FALSE(rule("10.1.0.0/16").covers(rule("10.0.0.0/8")));
  EXPECT_FALSE(rule("0.0.0.0/0").covers(rule("*")));
  EXPECT_FALSE(rule("0.0.0.0/0").covers(rule("pypi.org")));
  EXPECT_FALSE(rule("0.0.0.0/0").covers(rule("::/0")));
}

}  // namespace
}  // namespace glovebox::net
