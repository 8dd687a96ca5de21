// The command line of one command: the only parser of options in this project. A command describes
// itself as a CommandLine; parse() fills the targets of its options. help_text() (help_text.h) and
// man_page() (man_page.h) show the same description. --help and -h belong to every command.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "options/option.h"

namespace glovebox::options {

struct Subcommand {
  std::string_view name;        // "revoke"
  std::string_view operands{};  // "ID", as the usage line shows them
  std::size_t least_operands = 0;
  std::size_t most_operands = 0;
  std::string_view help{};     // one phrase
  std::string_view aliases{};  // other names, with commas: "rm"
};

struct CommandLine {
  std::string_view name{};   // "glovebox key"
  std::string_view usage{};  // what follows the name, on one line
  std::string_view description{};
  std::vector<OptionGroup> groups{};
  std::string_view notes{};            // exit status and examples, printed as they are
  std::size_t most_operands = 0;       // ignored with subcommands
  bool has_program_arguments = false;  // words after "--" belong to a program in the sandbox
  // So do, without "--", the first word after `most_operands` operands and all that follow it.
  bool has_program_after_operands = false;
  std::vector<Subcommand> subcommands{};
};

struct Arguments {
  // What --help prints, or the manual page in troff for --help=man. Not empty: it was asked for,
  // and nothing else was checked.
  std::string help{};
  std::string subcommand{};             // one of CommandLine::subcommands; never an alias
  std::vector<std::string> operands{};  // without the subcommand
  std::vector<std::string> program_arguments{};
};

// kInvalidArgument: one line that names the mistake and the command's --help.
Result<Arguments> parse(const CommandLine& command, std::span<const std::string> words);

// For a command whose words belong to several readers: takes the options out of `words` and returns
// all other words in their order.
Result<std::vector<std::string>> take_options(std::span<const Option> options,
                                              std::span<const std::string> words);

// A whole number from `least` to `most`. `option` is for the message.
Result<std::uint64_t> parse_count(std::string_view text, std::string_view option,
                                  std::uint64_t most, std::uint64_t least = 0);

// "NAME=value", split at the first '='. `option` is for the message.
struct NamedValue {
  std::string name;
  std::string value;
};
Result<NamedValue> parse_named_value(const std::string& text, std::string_view option);

}  // namespace glovebox::options
