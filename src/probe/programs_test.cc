#include "probe/programs.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

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
  facts.runtimes = {{.name = "node"}};
  Findings findings;
  explain(facts, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_EQ(findings[0].fix, "sudo apt install nodejs");
}

TEST(Programs, AbsentLanguagesOfContextsNameTheirPackages) {
  ProgramFacts facts;
  facts.absent_languages = {{"typescript", "", "node-typescript"}, {"r", "", "r-base-core"}};
  Findings findings;
  explain(facts, findings);
  const Finding expected{"programs", "more languages", State::kWarn,
                         "not installed: typescript, r; code contexts in them cannot be created",
                         "sudo apt install node-typescript r-base-core"};
  EXPECT_NE(std::find(findings.begin(), findings.end(), expected), findings.end());
}

TEST(Programs, AProgramThatDoesNotRunIsNotOk) {
  ProgramFacts facts;
  facts.runtimes = {{.name = "python3", .path = "/usr/bin/python3"}};
  Findings findings;
  explain(facts, findings);
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].state, State::kWarn);
}

TEST(Programs, AnAbsentInstallerNamesItsPackage) {
  ProgramFacts facts;
  facts.npm = "/usr/bin/npm";
  Findings findings;
  explain(facts, findings);
  ASSERT_GE(findings.size(), 2u);
  EXPECT_EQ(findings[0].name, "pip");
  EXPECT_EQ(findings[0].state, State::kWarn);
  EXPECT_EQ(findings[0].fix, "sudo apt install python3-pip");
  EXPECT_EQ(findings[1], (Finding{"programs", "npm", State::kOk, "/usr/bin/npm", ""}));
}

TEST(Programs, AbsentModulesOfTheDataTemplateNameTheirPackages) {
  ProgramFacts facts;
  facts.absent_modules = {"pandas", "matplotlib"};
  Findings findings;
  explain(facts, findings);
  ASSERT_GE(findings.size(), 3u);
  EXPECT_EQ(findings[2],
            (Finding{"programs", "python-data", State::kWarn,
                     "not installed: pandas, matplotlib, which the template python-data imports",
                     "sudo apt install python3-pandas python3-matplotlib"}));
  findings.clear();
  facts.absent_modules.clear();
  explain(facts, findings);
  EXPECT_EQ(findings[2].state, State::kOk);
}

TEST(Programs, AModuleIsFoundWhereItsPythonHasIt) {
  char name[] = "/tmp/gbx-programs-XXXXXX";
  ASSERT_NE(::mkdtemp(name), nullptr);
  const std::string usr = name;
  EXPECT_EQ(find_python_module(usr, "pip"), "");
  const std::string pip = usr + "/lib/python3.12/site-packages/pip";
  std::filesystem::create_directories(pip);
  EXPECT_EQ(find_python_module(usr, "pip"), "") << "an empty directory is no module";
  std::ofstream(pip + "/__init__.py") << "";
  EXPECT_EQ(find_python_module(usr, "pip"), pip);
  std::filesystem::remove_all(usr);
}

}  // namespace
}  // namespace glovebox::probe
