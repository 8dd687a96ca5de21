#include "runs/bundle_store.h"

#include <gtest/gtest.h>

#include "store/sha256.h"

namespace glovebox::runs {
namespace {

std::string put(BundleStore& bundles, const std::string& project, const std::string& bytes) {
  const std::string digest = store::sha256_hex(bytes);
  EXPECT_TRUE(bundles.put(project, digest, bytes));
  return digest;
}

TEST(BundleStore, GivesTheBytesToTheirProjectOnly) {
  BundleStore bundles;
  const std::string digest = put(bundles, "one", "some bytes");
  ASSERT_NE(bundles.find("one", digest), nullptr);
  EXPECT_EQ(*bundles.find("one", digest), "some bytes");
  EXPECT_EQ(bundles.find("two", digest), nullptr);
}

TEST(BundleStore, RefusesABundleThatIsTooLarge) {
  BundleStore bundles;
  const std::string large(kMaxBundleBytes + 1, 'x');
  EXPECT_FALSE(bundles.put("one", store::sha256_hex(large), large));
}

TEST(BundleStore, TheLeastRecentlyUsedOfTheProjectGivesWay) {
  BundleStore bundles({.project_bytes = 10, .project_count = 9, .total_bytes = 100});
  const std::string other = put(bundles, "two", "zz");
  const std::string first = put(bundles, "one", "aaaa");
  const std::string second = put(bundles, "one", "bbbb");
  EXPECT_NE(bundles.find("one", first), nullptr);  // used again
  put(bundles, "one", "cccc");
  EXPECT_NE(bundles.find("one", first), nullptr);
  EXPECT_EQ(bundles.find("one", second), nullptr);
  EXPECT_NE(bundles.find("two", other), nullptr);
  EXPECT_EQ(bundles.held_bytes(), 10u);
}

TEST(BundleStore, BoundsTheNumberOfEmptyBundlesToo) {
  BundleStore bundles({.project_bytes = 10, .project_count = 2, .total_bytes = 100});
  const std::string first = put(bundles, "one", "");
  put(bundles, "one", "a");
  put(bundles, "one", "b");
  EXPECT_EQ(bundles.find("one", first), nullptr);
}

TEST(BundleStore, TheProjectThatHoldsTheMostGivesWayToOthers) {
  BundleStore bundles({.project_bytes = 8, .project_count = 9, .total_bytes = 10});
  const std::string small = put(bundles, "small", "s");
  const std::string large = put(bundles, "large", "llllllll");
  put(bundles, "third", "tttt");
  EXPECT_NE(bundles.find("small", small), nullptr);
  EXPECT_EQ(bundles.find("large", large), nullptr);
}

TEST(BundleStore, ABundleThatARunHoldsCountsUntilTheRunEnds) {
  BundleStore bundles({.project_bytes = 4, .project_count = 9, .total_bytes = 100});
  const std::string first = put(bundles, "one", "aaaa");
  auto used = bundles.find("one", first);
  const std::string next = store::sha256_hex("bbbb");
  const Result<> refused = bundles.put("one", next, "bbbb");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::kResourceExhausted);
  EXPECT_EQ(bundles.held_bytes(), 4u);
  EXPECT_TRUE(bundles.put("two", next, "bbbb"));
  used.reset();
  EXPECT_TRUE(bundles.put("one", next, "bbbb"));
  EXPECT_EQ(bundles.find("one", first), nullptr);
}

TEST(BundleStore, KnowsADigest) {
  EXPECT_TRUE(is_bundle_digest(store::sha256_hex("")));
  EXPECT_FALSE(is_bundle_digest("../../etc/passwd"));
  EXPECT_FALSE(is_bundle_digest(std::string(64, 'A')));
}

}  // namespace
}  // namespace glovebox::runs
