#include "probe/cgroups/cgroup_trials.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace glovebox::probe {
namespace {

namespace fs = std::filesystem;

// A plain directory in the place of a cgroup tree: groups are directories there, too.
class TrialGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/gbx-trials-XXXXXX";
    ASSERT_NE(::mkdtemp(name), nullptr);
    tree_ = name;
  }
  void TearDown() override { fs::remove_all(tree_); }
  std::string tree_;
};

// A number that was a process's and is not any more.
pid_t dead_pid() {
  const pid_t child = fork_into(0);
  if (child == 0) ::_exit(0);
  wait_for_child(child);
  return child;
}

TEST_F(TrialGroups, AGroupGoesWithItsOwner) {
  {
    const Result<TrialGroup> group = TrialGroup::make(tree_, "memory");
    ASSERT_TRUE(group);
    EXPECT_TRUE(fs::is_directory(group->path()));
    EXPECT_FALSE(group->has("memory.max"));
  }
  EXPECT_TRUE(fs::is_empty(tree_));
}

TEST_F(TrialGroups, TheSweepTakesWhatADeadDoctorLeftAndNothingElse) {
  const std::string left = tree_ + "/gbx-doctor-" + std::to_string(dead_pid()) + "-levers";
  const std::string alive = tree_ + "/gbx-doctor-" + std::to_string(::getpid()) + "-levers";
  const std::string strange = tree_ + "/gbx-doctor-x-levers";
  const std::string other = tree_ + "/user.slice";
  for (const std::string& path : {left, alive, strange, other}) fs::create_directory(path);
  sweep_trial_groups(tree_);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(alive));
  EXPECT_TRUE(fs::exists(strange));
  EXPECT_TRUE(fs::exists(other));
}

TEST_F(TrialGroups, ATreeThatIsNotThereIsAnError) {
  EXPECT_FALSE(TrialGroup::make(tree_ + "/none", "memory"));
  sweep_trial_groups(tree_ + "/none");
}

}  // namespace
}  // namespace glovebox::probe
