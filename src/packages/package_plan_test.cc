#include "packages/package_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::packages {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Dependencies packages(std::vector<std::string> names) {
  Dependencies wanted;
  wanted.packages = std::move(names);
  return wanted;
}

TEST(PackagePlan, JoinsDependencies) {
  Dependencies first = packages({"a", "c"});
  first.requirements = "x";
  first.preload = {"a"};
  Dependencies second = packages({"b", "c"});
  second.requirements = "y";
  second.preload = {"c", "a"};
  const auto both = joined_dependencies(first, second);
  ASSERT_TRUE(both);
  EXPECT_THAT(both->packages, ElementsAre("a", "b", "c"));
  EXPECT_EQ(both->requirements, "x\ny");
  EXPECT_THAT(both->preload, ElementsAre("a", "c"));
  EXPECT_EQ(*joined_dependencies(first, {}), first);
  EXPECT_EQ(*joined_dependencies({}, first), first);
  EXPECT_EQ(*joined_dependencies(first, first), first);
  EXPECT_EQ(*joined_dependencies(first, packages({"a"})), first) << "it has that";
}

TEST(PackagePlan, TheRequestDecidesAboutTheHostsPackages) {
  Dependencies of_template = packages({"a"});
  of_template.host_packages = true;
  EXPECT_EQ(joined_dependencies(of_template, packages({"b"}))->host_packages, true);
  Dependencies asked = packages({"a"});
  EXPECT_TRUE(has_dependencies(of_template, asked));
  asked.host_packages = false;
  EXPECT_FALSE(has_dependencies(of_template, asked)) << "that is another package set";
  EXPECT_EQ(joined_dependencies(of_template, asked)->host_packages, false);
}

TEST(PackagePlan, AddsNothingToALock) {
  Dependencies lock;
  lock.lock = "everything";
  EXPECT_EQ(*joined_dependencies(lock, lock), lock);
  EXPECT_EQ(*joined_dependencies(lock, {}), lock);
  for (const auto& both :
       {joined_dependencies(lock, packages({"a"})), joined_dependencies(packages({"a"}), lock)}) {
    ASSERT_FALSE(both);
    EXPECT_EQ(both.error().code(), Errc::kInvalidArgument);
    EXPECT_THAT(both.error().message(), HasSubstr("lock"));
  }
}

TEST(PackagePlan, LimitsTheJoinedDependencies) {
  Dependencies many;
  Dependencies more;
  for (std::size_t i = 0; i < kMaxDependencies; ++i) {
    many.packages.push_back("a" + std::to_string(i));
    more.packages.push_back("b" + std::to_string(i));
  }
  EXPECT_FALSE(joined_dependencies(many, more));
  Dependencies large;
  large.requirements = std::string(kMaxRequirementsBytes, 'a');
  Dependencies other;
  other.requirements = "b";
  EXPECT_FALSE(joined_dependencies(large, other));
}

TEST(PackagePlan, TellsWhetherOneContainsTheOther) {
  Dependencies all = packages({"a", "b"});
  all.requirements = "x";
  EXPECT_TRUE(has_dependencies(all, {}));
  EXPECT_TRUE(has_dependencies(all, packages({"b"})));
  EXPECT_FALSE(has_dependencies(all, packages({"c"})));
  EXPECT_FALSE(has_dependencies(packages({"a", "b"}), all));
  Dependencies lock;
  lock.lock = "y";
  EXPECT_FALSE(has_dependencies(all, lock));
}

}  // namespace
}  // namespace glovebox::packages
