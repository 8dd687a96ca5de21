#include "options/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace glovebox::options {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A command with an option of every kind.
struct Parsed {
  Result<Arguments> arguments = fail(Errc::kInternal, "");
  bool json = false;
  bool quiet = false;
  std::string name;
  std::string language;
  std::optional<std::string> code;
  std::vector<std::string> env;
  OptionalUrl server;
  std::vector<std::string> taken;
};

Parsed parse_words(const std::vector<std::string>& words, CommandLine command = {}) {
  Parsed parsed;
  command.name = "glovebox try";
  if (command.most_operands == 0) command.most_operands = 2;
  command.groups = {{"Options",
                     {{"-j,--json", "", "", &parsed.json},
                      {"-q,--quiet", "", "", &parsed.quiet},
                      {"--name", "NAME", "", &parsed.name},
                      {"-c,--code", "CODE", "", &parsed.code},
                      {"--env", "NAME=VALUE", "", &parsed.env},
                      {"--server", "[URL]", "", &parsed.server},
                      {"--language", "NAME", "", &parsed.language, "--lang,--tongue"},
                      {"--take", "VALUE", "", TakeValue([&parsed](std::string value) -> Result<> {
                         if (value == "bad") return fail(Errc::kInvalidArgument, "--take: bad");
                         parsed.taken.push_back(std::move(value));
                         return {};
                       })}}}};
  parsed.arguments = parse(command, words);
  return parsed;
}

std::string mistake(const std::vector<std::string>& words, CommandLine command = {}) {
  const Parsed parsed = parse_words(words, std::move(command));
  return parsed.arguments ? "was accepted" : parsed.arguments.error().message();
}

TEST(CommandLine, OptionsStandAnywhereAndTakeTheirValueInEitherForm) {
  const Parsed parsed = parse_words({"a", "--name", "ci", "--json", "b"});
  EXPECT_THAT(parsed.arguments.value().operands, ElementsAre("a", "b"));
  EXPECT_TRUE(parsed.json);
  EXPECT_EQ(parsed.name, "ci");
  EXPECT_EQ(parse_words({"--name=x=y"}).name, "x=y");
  EXPECT_EQ(parse_words({"--name", "-"}).name, "-");
  EXPECT_EQ(parse_words({"--name", "--json"}).name, "--json");
  EXPECT_EQ(parse_words({"--name", "a", "--name", "b"}).name, "b");
}

TEST(CommandLine, ShortOptionsMayHaveTheirValueAttachedAndFlagsMayBeJoined) {
  EXPECT_EQ(parse_words({"-c", "x"}).code, "x");
  EXPECT_EQ(parse_words({"-cprint(1)"}).code, "print(1)");
  EXPECT_EQ(parse_words({"-c=x"}).code, "x");
  const Parsed joined = parse_words({"-jq"});
  EXPECT_TRUE(joined.json && joined.quiet);
  const Parsed with_value = parse_words({"-jcx"});
  EXPECT_TRUE(with_value.json);
  EXPECT_EQ(with_value.code, "x");
  EXPECT_THAT(mistake({"-jx"}), HasSubstr("unknown option '-jx'"));
}

TEST(CommandLine, TheTypeOfTheTargetDecides) {
  EXPECT_EQ(parse_words({"--code", ""}).code, "");
  EXPECT_EQ(parse_words({}).code, std::nullopt);
  EXPECT_THAT(parse_words({"--env", "A=1", "--env=B=2"}).env, ElementsAre("A=1", "B=2"));
  EXPECT_THAT(parse_words({"--take", "1", "--take", "2"}).taken, ElementsAre("1", "2"));
  EXPECT_EQ(mistake({"--take", "bad"}), "--take: bad");
}

TEST(CommandLine, AnOptionalUrlIsOnlyTakenIfItIsOne) {
  const Parsed bare = parse_words({"--server", "file.py"});
  EXPECT_TRUE(bare.server.given);
  EXPECT_EQ(bare.server.url, "");
  EXPECT_THAT(bare.arguments.value().operands, ElementsAre("file.py"));
  EXPECT_EQ(parse_words({"--server", "http://a:1"}).server.url, "http://a:1");
  EXPECT_EQ(parse_words({"--server=https://a"}).server.url, "https://a");
  EXPECT_FALSE(parse_words({}).server.given);
}

TEST(CommandLine, WordsAfterTheSeparatorAreNoOptions) {
  EXPECT_THAT(parse_words({"--", "--json"}).arguments.value().operands, ElementsAre("--json"));
  const Parsed passed = parse_words({"a", "--", "--json", "--"}, {.has_program_arguments = true});
  EXPECT_FALSE(passed.json);
  EXPECT_THAT(passed.arguments.value().operands, ElementsAre("a"));
  EXPECT_THAT(passed.arguments.value().program_arguments, ElementsAre("--json", "--"));
}

TEST(CommandLine, HelpComesBeforeEveryLaterMistake) {
  EXPECT_THAT(parse_words({"--help", "--nonsense"}).arguments.value().help,
              StartsWith("usage: glovebox try"));
  EXPECT_THAT(parse_words({"-h"}).arguments.value().help, StartsWith("usage: "));
  EXPECT_THAT(parse_words({"--help=man"}).arguments.value().help, StartsWith(".TH "));
  EXPECT_EQ(parse_words({"--name", "--help"}).name, "--help");
}

TEST(CommandLine, FormerNamesAreAcceptedAndNotSuggested) {
  EXPECT_EQ(parse_words({"--lang", "x"}).language, "x");
  EXPECT_EQ(parse_words({"--tongue=x"}).language, "x");
  EXPECT_EQ(parse_words({"--language", "x"}).language, "x");
  EXPECT_THAT(mistake({"--lagn"}), Not(HasSubstr("--lang'")));
}

TEST(CommandLine, AProgramBeginsAfterTheOperands) {
  const CommandLine command{
      .most_operands = 1, .has_program_arguments = true, .has_program_after_operands = true};
  const Parsed plain = parse_words({"id", "--json", "ls", "-q", "--", "x"}, command);
  EXPECT_THAT(plain.arguments.value().operands, ElementsAre("id"));
  EXPECT_THAT(plain.arguments.value().program_arguments, ElementsAre("ls", "-q", "--", "x"));
  EXPECT_TRUE(plain.json);
  EXPECT_FALSE(plain.quiet);
  const Parsed separated = parse_words({"id", "--", "-q", "ls"}, command);
  EXPECT_THAT(separated.arguments.value().program_arguments, ElementsAre("-q", "ls"));
}

TEST(CommandLine, SubcommandsHaveAliases) {
  const CommandLine command{.subcommands = {{"kill", "ID", 1, 1, "end it", "rm,remove"}}};
  EXPECT_EQ(parse_words({"rm", "x"}, command).arguments.value().subcommand, "kill");
  EXPECT_EQ(parse_words({"remove", "x"}, command).arguments.value().subcommand, "kill");
  EXPECT_THAT(mistake({"", "x"}, command), HasSubstr("unknown subcommand"));
}

TEST(CommandLine, EveryMistakeIsNamed) {
  EXPECT_EQ(mistake({"--nmae", "x"}),
            "unknown option '--nmae'; did you mean '--name'? (see `glovebox try --help`)");
  EXPECT_EQ(mistake({"--quite=1"}),
            "unknown option '--quite'; did you mean '--quiet'? (see `glovebox try --help`)");
  EXPECT_EQ(mistake({"--nothing-like-it"}),
            "unknown option '--nothing-like-it' (see `glovebox try --help`)");
  EXPECT_EQ(mistake({"a", "--nothing-like-it"}, {.has_program_arguments = true}),
            "unknown option '--nothing-like-it'; options of the program follow `--` (see `glovebox "
            "try --help`)");
  EXPECT_EQ(mistake({"--name"}), "--name needs a value");
  EXPECT_EQ(mistake({"--name="}), "--name needs a value");
  EXPECT_EQ(mistake({"--json=yes"}), "--json takes no value");
  EXPECT_EQ(mistake({"a", "b", "c"}), "unexpected argument 'c' (see `glovebox try --help`)");
  EXPECT_LT(mistake({"--" + std::string(100'000, 'x')}).size(), 400u);
}

TEST(CommandLine, AMisspeltFormerNameLeadsToTheOptionsName) {
  std::string value;
  const CommandLine command{
      .name = "glovebox try",
      .groups = {{"Options", {{"-w,--cwd", "DIR", "", &value, "--workdir,--directory"}}}}};
  std::vector<std::string> words = {"--workdr", "/"};
  const auto parsed = parse(command, words);
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().message(),
            "unknown option '--workdr'; did you mean '--cwd'? (see `glovebox try --help`)");
}

TEST(CommandLine, SubcommandsAreCheckedWithTheirOperands) {
  const CommandLine command{
      .subcommands = {{"list"}, {"show", "ID", 1, 1}, {"kill", "ID...", 1, 99}}};
  const auto shown = parse_words({"show", "--json", "x"}, command);
  EXPECT_EQ(shown.arguments.value().subcommand, "show");
  EXPECT_THAT(shown.arguments.value().operands, ElementsAre("x"));
  EXPECT_THAT(parse_words({"kill", "a", "b"}, command).arguments.value().operands,
              ElementsAre("a", "b"));
  EXPECT_EQ(mistake({}, command),
            "missing subcommand: list, show or kill (see `glovebox try --help`)");
  EXPECT_EQ(mistake({"lsit"}, command),
            "unknown subcommand 'lsit'; did you mean 'list'? (see `glovebox try --help`)");
  EXPECT_EQ(mistake({"frobnicate"}, command),
            "unknown subcommand 'frobnicate'; expected list, show or kill (see `glovebox try "
            "--help`)");
  EXPECT_THAT(mistake({"show"}, command),
              HasSubstr("missing argument: expected `glovebox try show ID`"));
  EXPECT_THAT(mistake({"list", "x"}, command), HasSubstr("unexpected argument 'x'"));
}

TEST(TakeOptions, LeavesAllOtherWordsInTheirOrder) {
  std::string name;
  const Option options[] = {{"--name", "NAME", "", &name}};
  const auto others =
      take_options(options, std::vector<std::string>{"--stop", "--name", "x", "--fd", "3"});
  EXPECT_THAT(others.value(), ElementsAre("--stop", "--fd", "3"));
  EXPECT_EQ(name, "x");
}

TEST(ParseCount, TakesWholeNumbersInTheirRange) {
  EXPECT_EQ(parse_count("0", "--runs", 10).value(), 0u);
  EXPECT_EQ(parse_count("10", "--runs", 10).value(), 10u);
  for (const char* text : {"", "-1", "11", "1.5", "1 ", "99999999999999999999"}) {
    EXPECT_THAT(parse_count(text, "--runs", 10).error().message(), HasSubstr("from 0 to 10"))
        << text;
  }
}

TEST(ParseNamedValue, SplitsAtTheFirstEqualsSign) {
  const NamedValue pair = parse_named_value("A=b=c", "--env").value();
  EXPECT_EQ(pair.name, "A");
  EXPECT_EQ(pair.value, "b=c");
  EXPECT_EQ(parse_named_value("A=", "--env").value().value, "");
  for (const char* text : {"A", "=x"}) {
    EXPECT_THAT(parse_named_value(text, "--env").error().message(),
                HasSubstr("--env must be NAME=VALUE"));
  }
}

}  // namespace
}  // namespace glovebox::options
