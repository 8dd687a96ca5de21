#include "options/help_text.h"

#include <gtest/gtest.h>

namespace glovebox::options {
namespace {

TEST(HelpText, ShowsUsageDescriptionOptionsAndNotes) {
  bool json = false;
  std::string name;
  const CommandLine command{
      .name = "glovebox key",
      .description = "Manage the keys of a server.",
      .groups = {{"Options",
                  {{"-n,--name", "NAME", "describe the key", &name},
                   {"--json", "", "print JSON", &json}}},
                 {"Server", {{"--a-rather-long-option", "VALUE", "explained", &name}}}},
      .notes = "Exit status: 0.\n",
      .subcommands = {{"list", "", 0, 0, "list them"}, {"revoke", "ID", 1, 1, "revoke one", "rm"}}};
  EXPECT_EQ(help_text(command),
            "usage: glovebox key COMMAND [OPTIONS]\n"
            "\n"
            "Manage the keys of a server.\n"
            "\n"
            "Commands:\n"
            "  list                   list them\n"
            "  revoke ID              revoke one\n"
            "\n"
            "Options:\n"
            "  -n,--name NAME         describe the key\n"
            "  --json                 print JSON\n"
            "  -h,--help              show this help\n"
            "\n"
            "Server:\n"
            "  --a-rather-long-option VALUE\n"
            "                         explained\n"
            "\n"
            "Exit status: 0.\n");
}

TEST(HelpText, WrapsAtEightyColumns) {
  std::string to;
  std::string words;
  for (int i = 0; i < 40; ++i) words += "word ";
  words += "end";
  const CommandLine command{.name = "glovebox x",
                            .description = words,
                            .groups = {{"Options", {{"--option", "VALUE", words, &to}}}}};
  const std::string text = help_text(command);
  std::size_t begin = 0;
  std::size_t lines = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(end - begin, 80u);
    begin = end + 1;
    ++lines;
  }
  EXPECT_GT(lines, 6u);
  EXPECT_NE(text.find("\n                         word word"), std::string::npos);
}

}  // namespace
}  // namespace glovebox::options
