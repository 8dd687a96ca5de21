#include "options/man_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::options {
namespace {

using ::testing::HasSubstr;

CommandLine key_command(std::string& name, bool& hidden) {
  return {.name = "glovebox key",
          .description = "Manage the keys of a server. They are secret.\n.so /etc/passwd",
          .groups = {{"Options",
                      {{"-n,--name", "NAME", "describe the key", &name},
                       {"--internal", "", "", &hidden}}}},
          .notes = "Exit status: 0.\n",
          .subcommands = {{"revoke", "ID", 1, 1, "end a key's validity", "rm"}}};
}

TEST(ManPage, HasTheSectionsOfTheSameTablesAsTheHelp) {
  std::string name;
  bool hidden = false;
  const std::string page = man_page(key_command(name, hidden));
  EXPECT_EQ(page.find(".TH \"GLOVEBOX-KEY\" 1 "), 0u) << page;
  EXPECT_THAT(page, HasSubstr(".SH NAME\nglovebox\\-key \\- Manage the keys of a server\n"));
  EXPECT_THAT(page, HasSubstr("\\fBglovebox key\\fR COMMAND [OPTIONS]\n"));
  EXPECT_THAT(page, HasSubstr("\\fBrevoke\\fR \\fIID\\fR\nend a key's validity\n"));
  EXPECT_THAT(page,
              HasSubstr(".TP\n\\fB\\-n\\fR, \\fB\\-\\-name\\fR \\fINAME\\fR\ndescribe the key\n"));
  EXPECT_THAT(page, HasSubstr("Exit status: 0.\n"));
}

TEST(ManPage, LeavesOutHiddenOptions) {
  std::string name;
  bool hidden = false;
  EXPECT_EQ(man_page(key_command(name, hidden)).find("internal"), std::string::npos);
}

TEST(ManPage, TextIsNeverARequest) {
  std::string name;
  bool hidden = false;
  EXPECT_THAT(man_page(key_command(name, hidden)), HasSubstr("\n\\&.so /etc/passwd\n"));
}

}  // namespace
}  // namespace glovebox::options
