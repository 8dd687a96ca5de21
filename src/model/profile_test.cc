#include "model/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace glovebox {
namespace {

GuestPath path(std::string_view text) { return *GuestPath::parse(text); }

TEST(Profile, TheTextIsCompleteAndSorted) {
  EXPECT_EQ(canonical_text(fill_in(ProfileRequest{}, Limits{})),
            R"({"cpu_ms":0,"cpu_thousandths":1000,"disk_bytes":268435456,"disk_inodes":65536,)"
            R"("memory_bytes":536870912,"mounts":[],"net":"none","output_bytes":1048576,)"
            R"("pids":128,"timeout_ms":30000})");
}

TEST(Profile, ADefaultSaidAloudIsTheSameProfile) {
  ProfileRequest requested;
  requested.memory_bytes = 512ull << 20;
  requested.wall = std::chrono::seconds(30);
  requested.output_bytes = kDefaultOutputBytes;
  EXPECT_EQ(canonical_text(fill_in(requested, Limits{})),
            canonical_text(fill_in(ProfileRequest{}, Limits{})));
}

TEST(Profile, OnlyWhatWasRequestedIsAskedFor) {
  Limits defaults;
  defaults.mark_asked_for(LimitKind::kDisk);
  ProfileRequest requested;
  requested.memory_bytes = 64u << 20;
  const Profile profile = fill_in(requested, defaults);
  EXPECT_TRUE(profile.limits.was_asked_for(LimitKind::kMemory));
  EXPECT_FALSE(profile.limits.was_asked_for(LimitKind::kDisk));
  EXPECT_FALSE(profile.limits.was_asked_for(LimitKind::kWall));
}

TEST(Profile, TheNetworkIsPartOfIt) {
  ProfileRequest requested;
  requested.net =
      net::NetPolicy{.base = net::NetBase::kNone, .allow = {*net::NetRule::parse("PyPI.org:443")}};
  EXPECT_EQ(fill_in(requested, Limits{}).net, *requested.net);
  EXPECT_THAT(
      canonical_text(fill_in(requested, Limits{})),
      ::testing::HasSubstr(R"("mounts":[],"net":{"allow":["pypi.org:443"]},"output_bytes")"));
  // Every spelling of "nothing allowed" equals a profile without net.
  requested.net =
      net::NetPolicy{.base = net::NetBase::kNone, .deny = {*net::NetRule::parse("evil.example")}};
  EXPECT_EQ(canonical_text(fill_in(requested, Limits{})),
            canonical_text(fill_in(ProfileRequest{}, Limits{})));
}

TEST(Profile, PackagesArePartOfItOnlyWhenThereAreSome) {
  ProfileRequest requested;
  requested.dependencies.preload = {"pandas"};  // of nothing
  EXPECT_EQ(canonical_text(fill_in(requested, Limits{})),
            canonical_text(fill_in(ProfileRequest{}, Limits{})));
  requested.dependencies.packages = {"numpy", "pandas>=2"};
  EXPECT_EQ(fill_in(requested, Limits{}).dependencies, requested.dependencies);
  EXPECT_THAT(canonical_text(fill_in(requested, Limits{})),
              ::testing::HasSubstr(R"("cpu_thousandths":1000,"dependencies":{"packages":["numpy",)"
                                   R"("pandas>=2"],"preload":["pandas"]},"disk_bytes")"));
  requested.dependencies = {};
  requested.dependencies.requirements = "a==1\nb";
  EXPECT_THAT(canonical_text(fill_in(requested, Limits{})),
              ::testing::HasSubstr(R"("dependencies":{"requirements":"a==1\u000ab"},)"));
  requested.dependencies = {};
  requested.dependencies.lock = "{}";
  EXPECT_THAT(canonical_text(fill_in(requested, Limits{})),
              ::testing::HasSubstr(R"("dependencies":{"lock":"{}"},)"));
}

TEST(Profile, QuotesWhatJsonCannotHold) {
  ProfileRequest requested;
  requested.mounts.push_back({"data", path("/a\"b\\c\n"), MountMode::kReadWrite});
  EXPECT_NE(canonical_text(fill_in(requested, Limits{}))
                .find(R"({"mode":"rw","name":"data","path":"/a\"b\\c\u000a"})"),
            std::string::npos);
}

ProfileRequest random_request(std::mt19937& random) {
  const auto number = [&](std::uint32_t low, std::uint32_t high) {
    return std::uniform_int_distribution<std::uint32_t>(low, high)(random);
  };
  const auto maybe = [&] { return number(0, 1) == 1; };
  ProfileRequest requested;
  if (maybe()) requested.wall = std::chrono::milliseconds(number(1, 100'000));
  if (maybe()) requested.cpu_time = std::chrono::milliseconds(number(0, 100'000));
  if (maybe()) requested.memory_bytes = std::uint64_t{number(8, 4096)} << 20;
  if (maybe()) requested.disk_bytes = std::uint64_t{number(1, 4096)} << 20;
  if (maybe()) requested.output_bytes = std::uint64_t{number(1, 4096)} << 10;
  if (maybe()) requested.pids = number(1, 1000);
  if (maybe()) requested.cpu_thousandths = number(10, 4000);
  for (std::uint32_t i = number(0, 3); i > 0; --i) {
    requested.mounts.push_back({"m" + std::to_string(number(0, 9)),
                                path("/mnt/" + std::to_string(i)),
                                maybe() ? MountMode::kReadOnly : MountMode::kReadWrite});
  }
  return requested;
}

// An equal request: defaults given explicitly, mounts in another order.
ProfileRequest respelled(ProfileRequest requested, const Limits& defaults, std::mt19937& random) {
  if (!requested.wall) requested.wall = defaults.wall;
  if (!requested.pids) requested.pids = defaults.pids;
  if (!requested.memory_bytes) requested.memory_bytes = defaults.memory_bytes;
  if (!requested.output_bytes) requested.output_bytes = kDefaultOutputBytes;
  std::shuffle(requested.mounts.begin(), requested.mounts.end(), random);
  return requested;
}

bool same_profile(const Profile& a, const Profile& b) {
  const auto sorted = [](std::vector<ProfileMount> mounts) {
    std::sort(mounts.begin(), mounts.end(),
              [](const auto& x, const auto& y) { return x.guest.str() < y.guest.str(); });
    return mounts;
  };
  Limits left = a.limits, right = b.limits;
  left.asked_for = right.asked_for = 0;
  return left == right && a.output_bytes == b.output_bytes && sorted(a.mounts) == sorted(b.mounts);
}

TEST(Profile, OneTextExactlyForOneProfile) {
  std::mt19937 random(20260203);
  const Limits defaults;
  Profile before = fill_in(random_request(random), defaults);
  for (int round = 0; round < 2000; ++round) {
    const ProfileRequest requested = random_request(random);
    const Profile profile = fill_in(requested, defaults);
    EXPECT_EQ(canonical_text(profile),
              canonical_text(fill_in(respelled(requested, defaults, random), defaults)));
    EXPECT_EQ(canonical_text(profile) == canonical_text(before), same_profile(profile, before));
    before = profile;
  }
}

}  // namespace
}  // namespace glovebox
