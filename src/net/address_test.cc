#include "net/address.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace glovebox::net {
namespace {

IpAddress ip(std::string_view text) {
  const auto address = IpAddress::parse(text);
  EXPECT_TRUE(address.has_value()) << text;
  return address.value_or(IpAddress::v4({0, 0, 0, 0}));
}
Cidr cidr(std::string_view text) {
  const auto range = Cidr::parse(text);
  EXPECT_TRUE(range.has_value()) << text;
  return range.value_or(Cidr(ip("0.0.0.0"), 32));
}
std::string kind(std::string_view text) {
  return std::string(reserved_as(ip(text)).value_or("public"));
}

TEST(IpAddress, TakesOnlyTheCanonicalSpellings) {
  for (const char* text : {"",
                           "127.1",
                           "0x7f000001",
                           "2130706433",
                           "0177.0.0.1",
                           "127.0.0.01",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.256",
                           "1.2.3.4 ",
                           " 1.2.3.4",
                           "1.2.3.4.",
                           "+1.2.3.4",
                           "1.2.3.-4",
                           "fe80::1%eth0",
                           "fe80::1%1",
                           "::1%",
                           "[::1]",
                           "1::2::3",
                           "12345::",
                           "::ffff:1.2.3",
                           "::1/128",
                           "localhost",
                           "１２７.0.0.1",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "::ffff:127.0.0.01"}) {
    EXPECT_FALSE(IpAddress::parse(text)) << text;
  }
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0.evil", 13)));
  EXPECT_FALSE(IpAddress::parse(std::string(64, '1')));
}

TEST(IpAddress, HasOneText) {
  EXPECT_EQ(ip("1.2.3.4").text(), "1.2.3.4");
  EXPECT_EQ(ip("255.255.255.255").text(), "255.255.255.255");
  EXPECT_EQ(ip("2001:DB8:0:0:0:0:0:1").text(), "2001:db8::1");
  EXPECT_EQ(ip("0:0:0:0:0:0:0:0").text(), "::");
  EXPECT_EQ(ip("0:0:0:0:0:0:0:1").text(), "::1");
  EXPECT_EQ(ip("2001:db8:0:1:1:1:1:1").text(), "2001:db8:0:1:1:1:1:1");
  EXPECT_EQ(ip("2001:0:0:1:0:0:0:1").text(), "2001:0:0:1::1");
  EXPECT_EQ(ip("2001:db8:0:0:1:0:0:1").text(), "2001:db8::1:0:0:1");
  EXPECT_EQ(ip("1:2:3:4:5:6::").text(), "1:2:3:4:5:6::");
  EXPECT_EQ(ip("::1.2.3.4").text(), "::102:304");
  EXPECT_EQ(ip("64:ff9b::1.2.3.4").text(), "64:ff9b::102:304");
}

TEST(IpAddress, AMappedAddressIsTheIpv4Address) {
  for (const char* text : {"::ffff:10.0.0.1", "::FFFF:0a00:0001", "0:0:0:0:0:ffff:a00:1"}) {
    EXPECT_TRUE(ip(text).is_v4()) << text;
    EXPECT_EQ(ip(text), ip("10.0.0.1")) << text;
    EXPECT_EQ(ip(text).text(), "10.0.0.1");
  }
  EXPECT_FALSE(ip("::fffe:10.0.0.1").is_v4());
  EXPECT_FALSE(ip("::1:ffff:10.0.0.1").is_v4());
  EXPECT_FALSE(ip("::10.0.0.1").is_v4());
}

TEST(IpAddress, ComesFromTheKernelAndGoesBack) {
  for (const char* text : {"1.2.3.4", "2001:db8::7"}) {
    const sockaddr_storage storage = ip(text).to_sockaddr(443);
    EXPECT_EQ(IpAddress::from(storage), ip(text));
  }
  const sockaddr_storage four = ip("1.2.3.4").to_sockaddr(443);
  const sockaddr_storage six = ip("2001:db8::7").to_sockaddr(443);
  EXPECT_EQ(four.ss_family, AF_INET);
  EXPECT_EQ(six.ss_family, AF_INET6);
  EXPECT_EQ(IpAddress::sockaddr_size(four), sizeof(sockaddr_in));
  EXPECT_EQ(IpAddress::sockaddr_size(six), sizeof(sockaddr_in6));
  sockaddr_in in{};
  std::memcpy(&in, &four, sizeof in);
  EXPECT_EQ(ntohs(in.sin_port), 443);

  // What a dual-stack socket says of an IPv4 peer.
  sockaddr_in6 mapped{};
  mapped.sin6_family = AF_INET6;
  mapped.sin6_addr.s6_addr[10] = mapped.sin6_addr.s6_addr[11] = 0xff;
  mapped.sin6_addr.s6_addr[12] = 127;
  mapped.sin6_addr.s6_addr[15] = 1;
  sockaddr_storage storage{};
  std::memcpy(&storage, &mapped, sizeof mapped);
  EXPECT_EQ(IpAddress::from(storage), ip("127.0.0.1"));
  storage.ss_family = AF_UNIX;
  EXPECT_FALSE(IpAddress::from(storage));
}

TEST(IpAddress, ShowsTheAddressThatIsInsideAnother) {
  for (const char* text :
       {"64:ff9b::127.0.0.1", "64:ff9b:1::7f00:1", "64:ff9b:1:2:3:4:7f00:1",
        "2002:7f00:1::", "2002:7f00:1:2:3:4:5:6", "2001:0:5ef5:79fb:0:59d:80ff:fffe", "::127.0.0.1",
        "2a00:1::5efe:7f00:1", "2a00:1::200:5efe:7f00:1", "fe80::5efe:127.0.0.1"}) {
    EXPECT_EQ(ip(text).embedded_v4(), ip("127.0.0.1")) << text;
  }
  for (const char* text :
       {"127.0.0.1", "2a00::1", "::", "::1", "64:ff9c::127.0.0.1", "2a00:1::300:5efe:7f00:1",
        "2a00:1::1:5efe:7f00:1", "2a00:1::5e00:7f00:1", "2a00:1::fe:7f00:1", "100::127.0.0.1",
        "2001:1:5ef5:79fb:0:59d:80ff:fffe"}) {
    EXPECT_FALSE(ip(text).embedded_v4()) << text;
  }
  for (const char* text : {"1.0.0.0", "0.1.0.0", "0.0.1.0", "0.0.0.2"}) {
    EXPECT_EQ(ip(std::string("::") + text).embedded_v4(), ip(text)) << text;
  }
}

TEST(Cidr, ContainsByItsPrefix) {
  EXPECT_TRUE(cidr("10.0.0.0/8").contains(ip("10.255.255.255")));
  EXPECT_FALSE(cidr("10.0.0.0/8").contains(ip("11.0.0.0")));
  EXPECT_TRUE(cidr("172.16.0.0/12").contains(ip("172.31.255.255")));
  EXPECT_FALSE(cidr("172.16.0.0/12").contains(ip("172.32.0.0")));
  EXPECT_FALSE(cidr("172.16.0.0/12").contains(ip("172.15.255.255")));
  EXPECT_TRUE(cidr("1.2.3.4").contains(ip("1.2.3.4")));
  EXPECT_FALSE(cidr("1.2.3.4").contains(ip("1.2.3.5")));
  EXPECT_TRUE(cidr("0.0.0.0/0").contains(ip("255.1.1.1")));
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(ip("::1")));
  EXPECT_TRUE(cidr("::/0").contains(ip("2001:db8::")));
  EXPECT_FALSE(cidr("::/0").contains(ip("1.2.3.4")));
  EXPECT_TRUE(cidr("2001:db8::/33").contains(ip("2001:db8:7fff::1")));
  EXPECT_FALSE(cidr("2001:db8::/33").contains(ip("2001:db8:8000::1")));
  EXPECT_TRUE(cidr("10.0.0.0/8").contains(cidr("10.1.0.0/16")));
  EXPECT_TRUE(cidr("10.0.0.0/8").contains(cidr("10.0.0.0/8")));
  EXPECT_FALSE(cidr("10.1.0.0/16").contains(cidr("10.0.0.0/8")));
  EXPECT_FALSE(cidr("0.0.0.0/0").contains(cidr("::/0")));
}

TEST(Cidr, HasOneText) {
  EXPECT_EQ(cidr("1.2.3.4").text(), "1.2.3.4/32");
  EXPECT_EQ(cidr("2001:DB8::/32").text(), "2001:db8::/32");
  EXPECT_EQ(cidr("::1").text(), "::1/128");
  EXPECT_EQ(cidr("::ffff:10.0.0.0/104").text(), "10.0.0.0/8");
  EXPECT_EQ(cidr("::ffff:0:0/96").text(), "0.0.0.0/0");
  EXPECT_EQ(cidr("::ffff:1.2.3.4").text(), "1.2.3.4/32");
}

TEST(Cidr, RefusesWhatIsNotOneRange) {
  for (const char* text : {"",
                           "/",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/08",
                           "10.0.0.0/+8",
                           "10.0.0.0/-1",
                           "10.0.0.0/8/8",
                           "10.0.0.0/8 ",
                           "10.0.0.0/255.0.0.0",
                           "10.0.0.1/8",
                           "10.128.0.0/8",
                           "2001:db8::1/32",
                           "2001:db8::/129",
                           "::/1280",
                           "::ffff:10.0.0.0/8",
                           "::ffff:10.0.0.1/104",
                           "example.com/8",
                           "10.0.0/8",
                           "0.0.0.1/0",
                           "::1/0"}) {
    EXPECT_FALSE(Cidr::parse(text)) << text;
  }
  const auto off = Cidr::parse("10.1.2.3/8");
  ASSERT_FALSE(off);
  EXPECT_NE(off.error().message().find("10.0.0.0/8"), std::string::npos) << off.error().message();
  EXPECT_FALSE(Cidr::parse(std::string_view("10.0.0.0/8\0", 11)));
}

TEST(Cidr, ItsConstructorClearsWhatIsBehindThePrefix) {
  EXPECT_EQ(Cidr(ip("10.1.2.3"), 8), cidr("10.0.0.0/8"));
  EXPECT_EQ(Cidr(ip("10.1.2.3"), 200).text(), "10.1.2.3/32");
  EXPECT_EQ(Cidr(ip("2001:db8:ffff::1"), 33).text(), "2001:db8:8000::/33");
}

TEST(Reserved, IpV4) {
  EXPECT_EQ(kind("127.0.0.1"), "loopback");
  EXPECT_EQ(kind("127.255.255.254"), "loopback");
  EXPECT_EQ(kind("0.0.0.0"), "this host");
  EXPECT_EQ(kind("0.1.2.3"), "this host");
  EXPECT_EQ(kind("10.0.0.1"), "private");
  EXPECT_EQ(kind("172.16.0.1"), "private");
  EXPECT_EQ(kind("172.31.255.255"), "private");
  EXPECT_EQ(kind("192.168.255.255"), "private");
  EXPECT_EQ(kind("100.64.0.1"), "shared");
  EXPECT_EQ(kind("100.127.255.255"), "shared");
  EXPECT_EQ(kind("169.254.169.254"), "metadata");
  EXPECT_EQ(kind("169.254.170.2"), "metadata");
  EXPECT_EQ(kind("100.100.100.200"), "metadata");
  EXPECT_EQ(kind("168.63.129.16"), "metadata");
  EXPECT_EQ(kind("192.0.0.192"), "metadata");
  EXPECT_EQ(kind("169.254.0.1"), "link-local");
  EXPECT_EQ(kind("192.0.0.8"), "reserved");
  EXPECT_EQ(kind("192.0.2.1"), "documentation");
  EXPECT_EQ(kind("198.51.100.1"), "documentation");
  EXPECT_EQ(kind("203.0.113.1"), "documentation");
  EXPECT_EQ(kind("198.19.255.255"), "benchmarking");
  EXPECT_EQ(kind("192.88.99.1"), "6to4");
  EXPECT_EQ(kind("224.0.0.1"), "multicast");
  EXPECT_EQ(kind("239.255.255.255"), "multicast");
  EXPECT_EQ(kind("240.0.0.1"), "reserved");
  EXPECT_EQ(kind("255.255.255.255"), "broadcast");
}

TEST(Reserved, ThePublicNeighboursOfReservedRangesArePublic) {
  for (const char* text : {"1.0.0.0",
                           "9.255.255.255",
                           "11.0.0.0",
                           "100.63.255.255",
                           "100.128.0.0",
                           "126.255.255.255",
                           "128.0.0.0",
                           "168.63.129.15",
                           "168.63.129.17",
                           "169.253.255.255",
                           "169.255.0.0",
                           "172.15.255.255",
                           "172.32.0.0",
                           "192.0.1.0",
                           "192.167.255.255",
                           "192.169.0.0",
                           "198.17.255.255",
                           "198.20.0.0",
                           "223.255.255.255",
                           "8.8.8.8",
                           "2000::1",
                           "2001:200::1",
                           "2001:4860:4860::8888",
                           "2a00:1450::1",
                           "2606:4700::1111",
                           "3ffe::1",
                           "2003::1",
                           "64:ff9b::8.8.8.8",
                           "2a00:1::5efe:808:808"}) {
    EXPECT_EQ(kind(text), "public") << text;
  }
}

TEST(Reserved, IpV6) {
  EXPECT_EQ(kind("::"), "this host");
  EXPECT_EQ(kind("::1"), "loopback");
  EXPECT_EQ(kind("fe80::1"), "link-local");
  EXPECT_EQ(kind("febf::1"), "link-local");
  EXPECT_EQ(kind("fec0::1"), "private");
  EXPECT_EQ(kind("fc00::1"), "private");
  EXPECT_EQ(kind("fd00:67:62::1"), "private");
  EXPECT_EQ(kind("fd00:ec2::254"), "metadata");
  EXPECT_EQ(kind("fd20:ce::254"), "metadata");
  EXPECT_EQ(kind("fe80::a9fe:a9fe"), "metadata");
  EXPECT_EQ(kind("ff02::1"), "multicast");
  EXPECT_EQ(kind("100::1"), "discard");
  EXPECT_EQ(kind("2001:db8::1"), "documentation");
  EXPECT_EQ(kind("3fff::1"), "documentation");
  EXPECT_EQ(kind("2001:2::1"), "reserved");
  EXPECT_EQ(kind("2001:10::1"), "reserved");
  EXPECT_EQ(kind("5f00::1"), "reserved");
  EXPECT_EQ(kind("4000::1"), "reserved");
  EXPECT_EQ(kind("1fff::1"), "reserved");
  EXPECT_EQ(kind("e000::1"), "reserved");
}

TEST(Reserved, EverySpellingOfLoopbackAndMetadata) {
  for (const char* text :
       {"127.0.0.1", "::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1",
        "64:ff9b::127.0.0.1", "64:ff9b:1::127.0.0.1", "2002:7f00:1::1", "2001:0:1:2:3:4:80ff:fffe",
        "2a00::5efe:127.0.0.1", "2a00::200:5efe:7f00:1"}) {
    EXPECT_EQ(kind(text), "loopback") << text;
  }
  for (const char* text :
       {"169.254.169.254", "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "::169.254.169.254",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::", "2001:0:1:2:3:4:5601:5601", "2a00::5efe:a9fe:a9fe", "fd00:ec2::254"}) {
    EXPECT_EQ(kind(text), "metadata") << text;
  }
  // Tunnels are closed even where what they embed is public.
  EXPECT_EQ(kind("2002:808:808::1"), "6to4");
  EXPECT_EQ(kind("2001:0:1:2:3:4:f7f7:f7f7"), "teredo");
  EXPECT_EQ(kind("::8.8.8.8"), "reserved");
  EXPECT_EQ(kind("64:ff9b:1:808:8:800::"), "this host");
  EXPECT_EQ(kind("64:ff9b:1::808:808"), "translation");
}

TEST(Reserved, AnOpenedRangeIsFree) {
  const std::vector<Cidr> opened = {cidr("10.1.0.0/16"), cidr("fd00:1::/32")};
  EXPECT_FALSE(reserved_as(ip("10.1.2.3"), opened));
  EXPECT_FALSE(reserved_as(ip("::ffff:10.1.2.3"), opened));
  EXPECT_FALSE(reserved_as(ip("fd00:1::7"), opened));
  EXPECT_EQ(reserved_as(ip("10.2.0.0"), opened), "private");
  EXPECT_EQ(reserved_as(ip("fd00:2::7"), opened), "private");
  EXPECT_FALSE(reserved_as(ip("64:ff9b::10.1.2.3"), opened));
  EXPECT_EQ(reserved_as(ip("64:ff9b::10.2.0.0"), opened), "private");
  EXPECT_EQ(reserved_as(ip("2002:a01:203::"), opened), "6to4");
}

TEST(Reserved, AWideRangeOpensNothingByTheWay) {
  const std::vector<Cidr> wide = {cidr("0.0.0.0/0"),     cidr("::/0"),     cidr("169.254.0.0/16"),
                                  cidr("100.64.0.0/10"), cidr("fc00::/7"), cidr("2002::/16")};
  EXPECT_EQ(reserved_as(ip("127.0.0.1"), wide), "loopback");
  EXPECT_EQ(reserved_as(ip("10.0.0.1"), wide), "private");
  EXPECT_EQ(reserved_as(ip("::1"), wide), "loopback");
  EXPECT_EQ(reserved_as(ip("169.254.169.254"), wide), "metadata");
  EXPECT_EQ(reserved_as(ip("100.100.100.200"), wide), "metadata");
  EXPECT_EQ(reserved_as(ip("fd00:ec2::254"), wide), "metadata");
  EXPECT_EQ(reserved_as(ip("2002:a9fe:a9fe::"), wide), "metadata");
  EXPECT_FALSE(reserved_as(ip("169.254.1.1"), wide));
  EXPECT_FALSE(reserved_as(ip("fd00:1::1"), wide));
  EXPECT_FALSE(reserved_as(ip("2002:808:808::"), wide));
  const std::vector<Cidr> exact = {cidr("169.254.169.254")};
  EXPECT_FALSE(reserved_as(ip("169.254.169.254"), exact));

  EXPECT_TRUE(check_can_be_opened(cidr("10.0.0.0/8")));
  EXPECT_TRUE(check_can_be_opened(cidr("169.254.169.254/32")));
  EXPECT_TRUE(check_can_be_opened(cidr("::1/128")));
  EXPECT_FALSE(check_can_be_opened(cidr("0.0.0.0/0")));
  EXPECT_FALSE(check_can_be_opened(cidr("10.0.0.0/7")));
  EXPECT_FALSE(check_can_be_opened(cidr("::/0")));
  EXPECT_FALSE(check_can_be_opened(cidr("168.63.0.0/16")));  // a metadata service is in it
  EXPECT_TRUE(check_can_be_opened(cidr("8.8.8.0/24")));
}

TEST(Reserved, AWholeRange) {
  EXPECT_EQ(reserved_as(cidr("10.1.0.0/16"), {}), "private");
  EXPECT_EQ(reserved_as(cidr("10.0.0.0/8"), {}), "private");
  EXPECT_EQ(reserved_as(cidr("127.0.0.1"), {}), "loopback");
  EXPECT_EQ(reserved_as(cidr("64:ff9b::a00:0/104"), {}), "private");
  EXPECT_EQ(reserved_as(cidr("fd00::/8"), {}), "private");
  EXPECT_FALSE(reserved_as(cidr("10.0.0.0/7"), {}));
  EXPECT_FALSE(reserved_as(cidr("0.0.0.0/0"), {}));
  EXPECT_FALSE(reserved_as(cidr("::/0"), {}));
  EXPECT_FALSE(reserved_as(cidr("::/3"), {}));
  EXPECT_FALSE(reserved_as(cidr("64:ff9b::/96"), {}));
  EXPECT_FALSE(reserved_as(cidr("8.8.8.8"), {}));
  const std::vector<Cidr> opened = {cidr("10.1.0.0/16")};
  EXPECT_FALSE(reserved_as(cidr("10.1.2.0/24"), opened));
  EXPECT_FALSE(reserved_as(cidr("10.0.0.0/8"), opened));
  EXPECT_EQ(reserved_as(cidr("10.2.0.0/16"), opened), "private");
}

}  // namespace
}  // namespace glovebox::net
