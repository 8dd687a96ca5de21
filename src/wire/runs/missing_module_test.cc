#include "wire/runs/missing_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::wire {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string name_in(std::string_view text) {
  MissingModule whole;
  whole.add(text);
  MissingModule pieces;
  for (const char c : text) pieces.add(std::string_view(&c, 1));
  EXPECT_EQ(whole.name(), pieces.name());
  return whole.name();
}

TEST(MissingModule, IsNamedByTheLastLine) {
  EXPECT_EQ(name_in("Traceback\nModuleNotFoundError: No module named 'yaml'\n"), "yaml");
  EXPECT_EQ(name_in("ModuleNotFoundError: No module named 'a_1.b.c'"), "a_1");
  EXPECT_EQ(name_in(std::string(5000, 'x') + "\nModuleNotFoundError: No module named 'yaml'\n"),
            "yaml");
}

TEST(MissingModule, OtherLinesNameNone) {
  EXPECT_EQ(name_in(""), "");
  EXPECT_EQ(name_in("\n\n"), "");
  EXPECT_EQ(name_in("ModuleNotFoundError: No module named 'yaml'\nand more\n"), "");
  EXPECT_EQ(name_in("ModuleNotFoundError: No module named 'a.b'; 'a' is not a package\n"), "");
  EXPECT_EQ(name_in(std::string(300, 'x') + "ModuleNotFoundError: No module named 'yaml'"), "");
}

TEST(MissingModule, NamesOfAGuestAreWordsOrNothing) {
  for (const std::string name : {"", "a b", "a;rm", "$(x)", "\x1b[2J", "../x", ".a", "-x"}) {
    EXPECT_EQ(name_in("ModuleNotFoundError: No module named '" + name + "'\n"), "") << name;
  }
  const std::string longest(64, 'a');
  EXPECT_EQ(name_in("ModuleNotFoundError: No module named '" + longest + "'\n"), longest);
  EXPECT_EQ(name_in("ModuleNotFoundError: No module named '" + longest + "a'\n"), "");
}

TEST(MissingModule, HintNamesThePackage) {
  const std::string hint = missing_module_hint("sklearn", HostPackages::kVisible);
  EXPECT_THAT(hint, HasSubstr("--with scikit-learn installs it"));
  EXPECT_THAT(hint, Not(HasSubstr("--host-packages")));
  EXPECT_THAT(missing_module_hint("attrs", HostPackages::kHidden), HasSubstr("--host-packages"));
}

}  // namespace
}  // namespace glovebox::wire
