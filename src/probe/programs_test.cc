#include "probe/programs.h"

#include <gtest/gtest.h>

namespace glovebox::probe {
namespace {

TEST(Programs, AVersionIsOneCleanLine) {
  EXPECT_EQ(first_line("Python 3.11.2\n"), "Python 3.11.2");
  EXPECT_EQ(first_line("\n\n  v20.1.0 \nmore\n"), "v20.1.0");
  EXPECT_EQ(first_line("evil\x1b[31m red\n"), "evil[31m red");
  EXPECT_EQ(first_line(""), "");
  EXPECT_EQ(first_line(std::string(500, 'x')).size(), 60u);
}

TEST(Programs, AnAbsentLanguageNamesItsPackage) {
  ProgramFacts facts;
  facts.is_root = true;
  facts.runtimes = {{.name = "node"}};
  Findings findings;
  explain(facts, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_EQ(findings[0].fix, "sudo apt install nodejs");
}

TEST(Programs, AProgramThatDoesNotRunIsNotOk) {
  ProgramFacts facts;
  facts.is_root = true;
  facts.runtimes = {{.name = "python3", .path = "/usr/bin/python3"}};
  Findings findings;
  explain(facts, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kWarn);
}

}  // namespace
}  // namespace glovebox::probe
