// Tests of what is found in a /proc that has to be covered.
#include "guest/agent/init/proc_mask.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace glovebox::agent {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::StrEq;

class ProcMaskTest : public testing::Test {
 protected:
  ProcMaskTest() {
    std::string name = testing::TempDir() + "/proc-mask-XXXXXX";
    root_ = ::mkdtemp(name.data());
    fs::create_directory(root_ + "/proc");
  }
  ~ProcMaskTest() override { fs::remove_all(root_); }
  void add(const std::string& name, fs::perms mode) const {
    std::ofstream(root_ + "/proc/" + name) << "x";
    fs::permissions(root_ + "/proc/" + name, mode);
  }
  std::string root_;
};

TEST_F(ProcMaskTest, CoversWhatExistsAndOthersMayOpen) {
  add("keys", fs::perms{0444});
  add("kmsg", fs::perms{0400});
  add("kallsyms", fs::perms{0440});
  add("uptime", fs::perms{0444});  // tells nothing that a guest may not know
  fs::create_directory(root_ + "/proc/bus");
  fs::create_directory(root_ + "/proc/self");
  const ProcMask mask = learn_proc_mask(root_);
  EXPECT_THAT(mask.files, ElementsAre(StrEq("kallsyms"), StrEq("keys")));
  EXPECT_THAT(mask.directories, ElementsAre(StrEq("bus")));
}

TEST_F(ProcMaskTest, SeesANameThatWasAdded) {
  EXPECT_TRUE(learn_proc_mask(root_).files.empty());
  add("modules", fs::perms{0444});
  EXPECT_THAT(learn_proc_mask(root_).files, ElementsAre(StrEq("modules")));
}

}  // namespace
}  // namespace glovebox::agent
