#include "store/key_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int64_t kMinute = 60'000;

class KeyRingTest : public ::testing::Test {
 protected:
  // A key whose secret is `secret`.
  KeyRecord add(const std::string& secret, KeyRole role = KeyRole::kUser,
                const std::string& project = "default", std::int64_t created_ms = 1) {
    KeyRecord key;
    key.project = project;
    key.name = "name of " + project;
    key.role = role;
    key.digest = digest_of_secret(secret).value();
    key.limits.max_in_flight = 3;
    key.created_ms = created_ms;
    ring_.add(key);
    return key;
  }
  std::optional<std::int64_t> last_used(const KeyRecord& key) {
    return ring_.find(key.id)->last_used_ms;
  }
  KeyRing ring_;
  const std::string secret_ = make_secret();
};

TEST_F(KeyRingTest, ASecretProvesWhatItsKeySays) {
  const KeyRecord key = add(secret_, KeyRole::kAdmin, "one");
  add(make_secret(), KeyRole::kUser, "two");
  const auto who = ring_.authenticate(secret_, 1000);
  ASSERT_TRUE(who);
  EXPECT_EQ(who->key, key.id);
  EXPECT_EQ(who->project, "one");
  EXPECT_EQ(who->name, "name of one");
  EXPECT_TRUE(who->is_admin());
  EXPECT_EQ(who->limits, key.limits);
  EXPECT_FALSE(ring_.authenticate(make_secret(), 1000));
  EXPECT_FALSE(ring_.authenticate("", 1000));
}

TEST_F(KeyRingTest, TheLastUseIsKnownToTheMinute) {
  const KeyRecord key = add(secret_);
  EXPECT_EQ(last_used(key), std::nullopt);
  const auto used_at = [&](std::int64_t now_ms) {
    EXPECT_TRUE(ring_.authenticate(secret_, now_ms));
    return last_used(key);
  };
  EXPECT_EQ(used_at(1000), 1000);
  EXPECT_EQ(used_at(1000), 1000);
  EXPECT_EQ(used_at(1000 + kMinute - 1), 1000);
  EXPECT_EQ(used_at(1000 + kMinute), 1000 + kMinute);
  EXPECT_EQ(used_at(500), 500) << "the clock went back";
}

TEST_F(KeyRingTest, EachUseIsTakenOnce) {
  const KeyRecord key = add(secret_);
  add(make_secret());
  EXPECT_THAT(ring_.take_used(), IsEmpty());
  ASSERT_TRUE(ring_.authenticate(secret_, 1000));
  EXPECT_THAT(ring_.take_used(), ElementsAre(std::pair(key.id, std::int64_t{1000})));
  EXPECT_THAT(ring_.take_used(), IsEmpty());
  ASSERT_TRUE(ring_.authenticate(secret_, 1000 + kMinute - 1));  // within the minute
  EXPECT_THAT(ring_.take_used(), IsEmpty());
}

TEST_F(KeyRingTest, ARevokedKeyProvesNothingAndIsRevokedOnce) {
  const KeyRecord key = add(secret_);
  EXPECT_FALSE(ring_.revoke(KeyId::make(), 5)) << "there is no such key";
  EXPECT_TRUE(ring_.revoke(key.id, 5));
  EXPECT_FALSE(ring_.authenticate(secret_, 1000));
  EXPECT_FALSE(ring_.revoke(key.id, 6));
  EXPECT_EQ(ring_.find(key.id)->revoked_ms, 5);
}

TEST_F(KeyRingTest, OnlyAdminKeysThatAreNotRevokedAreUsable) {
  EXPECT_EQ(ring_.usable_admin_keys(), 0u);
  add(make_secret());
  EXPECT_EQ(ring_.usable_admin_keys(), 0u);
  const KeyRecord first = add(make_secret(), KeyRole::kAdmin);
  add(make_secret(), KeyRole::kAdmin);
  EXPECT_EQ(ring_.usable_admin_keys(), 2u);
  ring_.revoke(first.id, 5);
  EXPECT_EQ(ring_.usable_admin_keys(), 1u);
}

TEST_F(KeyRingTest, AListIsOfOneProjectOrAllOldestFirst) {
  const KeyRecord second = add(make_secret(), KeyRole::kUser, "one", 20);
  const KeyRecord first = add(make_secret(), KeyRole::kUser, "one", 10);
  const KeyRecord other = add(make_secret(), KeyRole::kUser, "two", 15);
  const auto ids = [&](const std::optional<std::string>& project) {
    std::vector<KeyId> found;
    for (const KeyRecord& key : ring_.list(project)) found.push_back(key.id);
    return found;
  };
  EXPECT_THAT(ids("one"), ElementsAre(first.id, second.id));
  EXPECT_THAT(ids("two"), ElementsAre(other.id));
  EXPECT_THAT(ids("three"), IsEmpty());
  EXPECT_THAT(ids(std::nullopt), ElementsAre(first.id, other.id, second.id));
  EXPECT_FALSE(ring_.find(KeyId::make()));
}

}  // namespace
}  // namespace glovebox::store
