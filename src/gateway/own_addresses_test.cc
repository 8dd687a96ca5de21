#include "gateway/own_addresses.h"

#include <gtest/gtest.h>

namespace glovebox::gateway {
namespace {

using Location = OwnAddresses::Location;

net::IpAddress address(const char* text) { return net::IpAddress::parse(text).value(); }

TEST(OwnAddresses, LoopbackIsOurs) {
  auto own = OwnAddresses::open();
  ASSERT_TRUE(own);
  for (const char* text : {"127.0.0.1", "127.1.2.3", "::1"}) {
    const auto place = own->find(address(text));
    ASSERT_TRUE(place) << text << ": " << place.error().message();
    EXPECT_EQ(*place, Location::kOwn) << text;
  }
}

// With a way out or without one: not this host. Nothing is sent.
TEST(OwnAddresses, AnAddressOfTheInternetIsElsewhere) {
  auto own = OwnAddresses::open();
  ASSERT_TRUE(own);
  for (const char* text : {"192.0.2.1", "2001:db8::1"}) {
    const auto place = own->find(address(text));
    ASSERT_TRUE(place) << text << ": " << place.error().message();
    EXPECT_EQ(*place, Location::kElsewhere) << text;
  }
}

TEST(OwnAddresses, ManyQuestionsOverOneSocket) {
  auto own = OwnAddresses::open();
  ASSERT_TRUE(own);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(own->find(address("127.0.0.1")).value(), Location::kOwn);
    ASSERT_EQ(own->find(address("192.0.2.1")).value(), Location::kElsewhere);
  }
}

}  // namespace
}  // namespace glovebox::gateway
