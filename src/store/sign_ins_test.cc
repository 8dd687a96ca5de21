#include "store/sign_in.h"

#include <gtest/gtest.h>

#include <atomic>

#include "store/testing/store_fixture.h"

namespace glovebox::store {
namespace {

class SignIns : public StoreTest {
 protected:
  void SetUp() override {
    options_.clock_ms = [this] { return now_ms_.load(); };
    open();
    key_ = create_key({.project = "team"}).value().record.id;
  }

  void TearDown() override { store_.reset(); }  // it reads our clock

  Result<SignIn> begin(const std::string& digest, SignInKind kind = SignInKind::kSession,
                       std::chrono::seconds lifetime = std::chrono::hours(1)) {
    const NewSignIn wanted{.digest = digest, .kind = kind, .key = key_, .lifetime = lifetime};
    return answer_of<SignIn>(
        [&](Callback<SignIn> done) { store_->add_sign_in(wanted, std::move(done)); });
  }
  Result<> end(const std::string& digest) {
    return answer_of<void>([&](Callback<> done) { store_->end_session(digest, std::move(done)); });
  }
  Result<Store::SignedIn> take(const std::string& digest) {
    return answer_of<Store::SignedIn>(
        [&](Callback<Store::SignedIn> done) { store_->take_link(digest, std::move(done)); });
  }
  void revoke() {
    const Result<> done = answer_of<void>(
        [&](Callback<> answer) { store_->revoke_key(std::nullopt, key_, std::move(answer)); });
    ASSERT_TRUE(done);
  }

  // Read by the store's thread as well, which has nothing to do while it changes.
  std::atomic<std::int64_t> now_ms_{1'000'000};
  KeyId key_ = KeyId::make();
  const std::string one_ = std::string(64, '1');
  const std::string two_ = std::string(64, '2');
};

TEST_F(SignIns, ASessionStandsForItsKeyAndOutlivesARestart) {
  ASSERT_TRUE(begin(one_));
  const auto found = store_->find_session(one_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->who.key, key_);
  EXPECT_EQ(found->who.project, "team");
  EXPECT_EQ(found->sign_in.expires_ms, 1'000'000 + 3'600'000);
  open();
  EXPECT_TRUE(store_->find_session(one_));
  EXPECT_FALSE(store_->find_session(two_));
}

TEST_F(SignIns, ASessionEndsWithItsTime) {
  ASSERT_TRUE(begin(one_, SignInKind::kSession, std::chrono::seconds(10)));
  now_ms_ += 9'999;
  EXPECT_TRUE(store_->find_session(one_));
  now_ms_ += 1;
  EXPECT_FALSE(store_->find_session(one_));
}

TEST_F(SignIns, ASessionThatWasEndedStaysEnded) {
  ASSERT_TRUE(begin(one_));
  ASSERT_TRUE(begin(two_));
  ASSERT_TRUE(end(one_));
  EXPECT_FALSE(store_->find_session(one_));
  EXPECT_TRUE(store_->find_session(two_));
  open();
  EXPECT_FALSE(store_->find_session(one_));
  EXPECT_TRUE(store_->find_session(two_));
  EXPECT_TRUE(end(one_));
}

TEST_F(SignIns, ARevokedKeyEndsItsSessionsAndLinks) {
  ASSERT_TRUE(begin(one_));
  ASSERT_TRUE(begin(two_, SignInKind::kLink));
  revoke();
  EXPECT_FALSE(store_->find_session(one_));
  EXPECT_EQ(take(two_).error().code(), Errc::kNotFound);
  open();
  EXPECT_FALSE(store_->find_session(one_));
}

TEST_F(SignIns, ALinkIsGoodOnce) {
  ASSERT_TRUE(begin(one_, SignInKind::kLink));
  const Result<Store::SignedIn> first = take(one_);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->who.key, key_);
  EXPECT_EQ(take(one_).error().code(), Errc::kNotFound);
  open();
  EXPECT_EQ(take(one_).error().code(), Errc::kNotFound);
}

TEST_F(SignIns, ALinkThatHasExpiredIsNone) {
  ASSERT_TRUE(begin(one_, SignInKind::kLink, std::chrono::seconds(10)));
  now_ms_ += 10'000;
  EXPECT_EQ(take(one_).error().code(), Errc::kNotFound);
}

TEST_F(SignIns, ALinkIsNoSessionAndASessionNoLink) {
  ASSERT_TRUE(begin(one_, SignInKind::kLink));
  ASSERT_TRUE(begin(two_));
  EXPECT_FALSE(store_->find_session(one_));
  EXPECT_EQ(take(two_).error().code(), Errc::kNotFound);
  EXPECT_TRUE(store_->find_session(two_));
}

TEST_F(SignIns, TheOldestOfTooManySessionsEnds) {
  for (std::size_t i = 0; i <= kMaxSignInsPerKey; ++i) {
    now_ms_ += 1;
    ASSERT_TRUE(begin(std::string(62, '0') + std::to_string(10 + i)));
  }
  EXPECT_FALSE(store_->find_session(std::string(62, '0') + "10"));
  EXPECT_TRUE(store_->find_session(std::string(62, '0') + "11"));
  open();
  EXPECT_FALSE(store_->find_session(std::string(62, '0') + "10"));
}

}  // namespace
}  // namespace glovebox::store
