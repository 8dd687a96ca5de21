#include "gateway/dns/pins.h"

#include <gtest/gtest.h>

#include <string>

namespace glovebox::gateway {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<net::HostName>;
using Addresses = std::vector<net::IpAddress>;

const Pins::Time kStart{100h};
net::HostName host(std::string_view name) { return net::HostName::parse(name).value(); }
net::IpAddress ip(std::string_view text) { return net::IpAddress::parse(text).value(); }
net::IpAddress numbered(std::size_t i) {
  return net::IpAddress::v4(
      {192, 1, static_cast<std::uint8_t>(i >> 8), static_cast<std::uint8_t>(i & 0xff)});
}

TEST(Pins, HoldReturnedAddresses) {
  Pins pins;
  pins.add(host("a.example"), Addresses{ip("192.0.2.1"), ip("192.0.2.2")}, kStart);
  EXPECT_TRUE(pins.has(host("a.example"), ip("192.0.2.2"), kStart));
  EXPECT_FALSE(pins.has(host("a.example"), ip("192.0.2.3"), kStart));
  EXPECT_FALSE(pins.has(host("b.example"), ip("192.0.2.1"), kStart));
  EXPECT_EQ(pins.names_of(ip("192.0.2.1"), kStart), Names{host("a.example")});
  EXPECT_TRUE(pins.names_of(ip("192.0.2.9"), kStart).empty());
}

TEST(Pins, AnAddressMayHaveManyNamesTheLastOneFirst) {
  Pins pins;
  for (const char* name : {"a.example", "b.example", "c.example", "a.example"}) {
    pins.add(host(name), Addresses{ip("192.0.2.1")}, kStart);
  }
  EXPECT_EQ(pins.names_of(ip("192.0.2.1"), kStart),
            (Names{host("a.example"), host("c.example"), host("b.example")}));
  EXPECT_EQ(pins.size(), 3u);
}

TEST(Pins, AMappedAddressIsTheSame) {
  Pins pins;
  pins.add(host("a.example"), Addresses{ip("192.0.2.1")}, kStart);
  EXPECT_TRUE(pins.has(host("a.example"), ip("::ffff:192.0.2.1"), kStart));
}

TEST(Pins, ExpireUnlessReturnedAgain) {
  Pins pins;
  pins.add(host("a.example"), Addresses{ip("192.0.2.1")}, kStart);
  pins.add(host("b.example"), Addresses{ip("192.0.2.1")}, kStart);
  pins.add(host("a.example"), Addresses{ip("192.0.2.1")}, kStart + 30min);
  EXPECT_TRUE(pins.has(host("b.example"), ip("192.0.2.1"), kStart + 59min));
  EXPECT_FALSE(pins.has(host("b.example"), ip("192.0.2.1"), kStart + 60min));
  EXPECT_EQ(pins.names_of(ip("192.0.2.1"), kStart + 60min), Names{host("a.example")});
  EXPECT_FALSE(pins.has(host("a.example"), ip("192.0.2.1"), kStart + 90min));
  // What has ended goes when something is added.
  pins.add(host("c.example"), Addresses{ip("192.0.2.2")}, kStart + 90min);
  EXPECT_EQ(pins.size(), 1u);
}

TEST(Pins, AreBoundedAndTheOldestGoFirst) {
  Pins pins;
  for (std::size_t i = 0; i < Pins::kMaxPins + 10; ++i) {
    pins.add(host("a.example"), Addresses{numbered(i)}, kStart);
  }
  EXPECT_EQ(pins.size(), Pins::kMaxPins);
  EXPECT_FALSE(pins.has(host("a.example"), numbered(9), kStart));
  EXPECT_TRUE(pins.has(host("a.example"), numbered(10), kStart));
  EXPECT_TRUE(pins.has(host("a.example"), numbered(Pins::kMaxPins + 9), kStart));
}

TEST(Pins, NamesOfOneAddressAreBoundedToo) {
  Pins pins;
  for (std::size_t i = 0; i < Pins::kMaxPerAddress + 1; ++i) {
    pins.add(host("x" + std::to_string(i) + ".example"), Addresses{ip("192.0.2.1")}, kStart);
  }
  EXPECT_EQ(pins.names_of(ip("192.0.2.1"), kStart).size(), Pins::kMaxPerAddress);
  EXPECT_FALSE(pins.has(host("x0.example"), ip("192.0.2.1"), kStart));
  EXPECT_TRUE(pins.has(host("x1.example"), ip("192.0.2.1"), kStart));
}

}  // namespace
}  // namespace glovebox::gateway
