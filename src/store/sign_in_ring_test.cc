// Which sign-ins make room for another. What a session or a link is good for is in
// sign_ins_test.cc.
#include "store/sign_in_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

SignIn made(const std::string& digest, const KeyId& key, std::int64_t created_ms,
            std::int64_t expires_ms = 1'000'000, SignInKind kind = SignInKind::kSession) {
  return {.digest = digest,
          .kind = kind,
          .key = key,
          .created_ms = created_ms,
          .expires_ms = expires_ms};
}

TEST(SignInRing, WhatHasExpiredMakesRoom) {
  SignInRing ring;
  const KeyId key = KeyId::make();
  EXPECT_THAT(ring.add(made("a", key, 0, 100)), IsEmpty());
  EXPECT_THAT(ring.add(made("b", key, 0, 101)), IsEmpty());
  EXPECT_THAT(ring.add(made("c", key, 100)), ElementsAre("a"));
  EXPECT_TRUE(ring.find("b", SignInKind::kSession, 0));
  EXPECT_FALSE(ring.find("a", SignInKind::kSession, 0));
}

TEST(SignInRing, TheOldestOfAKeyAndKindMakesRoomAndNoOther) {
  SignInRing ring;
  const KeyId key = KeyId::make();
  const KeyId other = KeyId::make();
  EXPECT_THAT(ring.add(made("other key", other, 0)), IsEmpty());
  EXPECT_THAT(ring.add(made("link", key, 0, 1'000'000, SignInKind::kLink)), IsEmpty());
  for (std::size_t i = 0; i < kMaxSignInsPerKey; ++i) {
    EXPECT_THAT(ring.add(made("s" + std::to_string(i), key, static_cast<std::int64_t>(i))),
                IsEmpty());
  }
  EXPECT_THAT(ring.add(made("one more", key, 50)), ElementsAre("s0"));
  EXPECT_THAT(ring.add(made("and another", key, 51)), ElementsAre("s1"));
  EXPECT_TRUE(ring.find("s2", SignInKind::kSession, 0));
  EXPECT_TRUE(ring.find("other key", SignInKind::kSession, 0));
  EXPECT_TRUE(ring.find("link", SignInKind::kLink, 0));
}

TEST(SignInRing, IsGoodForItsKindAndBeforeItsEnd) {
  SignInRing ring;
  const KeyId key = KeyId::make();
  ring.add(made("a", key, 0, 100));
  EXPECT_TRUE(ring.find("a", SignInKind::kSession, 99));
  EXPECT_FALSE(ring.find("a", SignInKind::kSession, 100));
  EXPECT_FALSE(ring.find("a", SignInKind::kLink, 0));
  EXPECT_FALSE(ring.take("a", SignInKind::kLink, 0));
  EXPECT_TRUE(ring.take("a", SignInKind::kSession, 99));
  EXPECT_FALSE(ring.take("a", SignInKind::kSession, 99)) << "it was taken";
  ring.add(made("b", key, 0, 100));
  EXPECT_FALSE(ring.take("b", SignInKind::kSession, 100));
  EXPECT_FALSE(ring.find("b", SignInKind::kSession, 0)) << "taken all the same";
}

TEST(SignInRing, AllOfAKeyAreTakenTogether) {
  SignInRing ring;
  const KeyId key = KeyId::make();
  ring.add(made("a", key, 0));
  ring.add(made("b", key, 0, 1'000'000, SignInKind::kLink));
  ring.add(made("c", KeyId::make(), 0));
  EXPECT_THAT(ring.take_of(key), UnorderedElementsAre("a", "b"));
  EXPECT_THAT(ring.take_of(key), IsEmpty());
  EXPECT_TRUE(ring.find("c", SignInKind::kSession, 0));
}

}  // namespace
}  // namespace glovebox::store
