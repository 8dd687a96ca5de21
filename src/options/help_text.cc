#include "options/help_text.h"

namespace glovebox::options {
namespace {

constexpr std::size_t kWidth = 80;
constexpr std::size_t kHelpColumn = 25;

// Appends one paragraph broken at spaces; every line after the first begins at `indent`.
void append_wrapped(std::string& out, std::string_view text, std::size_t column,
                    std::size_t indent) {
  bool is_first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!is_first && column + 1 + word.size() > kWidth) {
      out += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (!is_first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    is_first = false;
  }
  out += '\n';
}

// Lines of `text` that are their own paragraphs.
void append_paragraphs(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    append_wrapped(out, text.substr(0, end), 0, 0);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void append_option(std::string& out, std::string_view names, std::string_view value_name,
                   std::string_view help) {
  std::string left = "  " + std::string(names);
  if (!value_name.empty()) left += " " + std::string(value_name);
  if (left.size() + 2 > kHelpColumn) {
    out += left + "\n" + std::string(kHelpColumn, ' ');
  } else {
    out += left + std::string(kHelpColumn - left.size(), ' ');
  }
  append_wrapped(out, help, kHelpColumn, kHelpColumn);
}

}  // namespace

std::string usage_of(const CommandLine& command) {
  if (!command.usage.empty()) return std::string(command.name) + " " + std::string(command.usage);
  return std::string(command.name) + (command.subcommands.empty() ? "" : " COMMAND [OPTIONS]");
}

std::string help_text(const CommandLine& command) {
  std::string out = "usage: " + usage_of(command) + "\n\n";
  append_paragraphs(out, command.description);
  if (!command.subcommands.empty()) out += "\nCommands:\n";
  for (const Subcommand& one : command.subcommands) {
    append_option(out, one.name, one.operands, one.help);
  }
  bool is_first = true;
  for (const OptionGroup& group : command.groups) {
    out += "\n" + std::string(group.title) + ":\n";
    for (const Option& option : group.options) {
      if (option.help.empty()) continue;
      append_option(out, option.names, option.value_name, option.help);
    }
    if (is_first) append_option(out, "-h,--help", "", "show this help");
    is_first = false;
  }
  if (command.groups.empty()) {
    out += "\nOptions:\n";
    append_option(out, "-h,--help", "", "show this help");
  }
  if (!command.notes.empty()) out += "\n" + std::string(command.notes);
  return out;
}

}  // namespace glovebox::options
