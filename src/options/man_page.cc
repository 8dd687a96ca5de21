#include "options/man_page.h"

#include <algorithm>

#include "options/help_text.h"

namespace glovebox::options {
namespace {

// Text of a paragraph: a dash is a minus sign that can be searched and copied, a line never begins
// with a request of troff.
std::string troff(std::string_view text) {
  std::string out;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) out += "\\&";
    at_line_start = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + troff(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + troff(text) + "\\fR"; }

std::string heading(std::string_view text) {
  std::string upper(text);
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return ".SH " + upper + "\n";
}

std::string dashed(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

// "-c,--code" with CODE becomes "-c, --code CODE".
std::string option_tag(std::string_view names, std::string_view value_name) {
  std::string tag;
  while (true) {
    const std::size_t comma = names.find(',');
    tag += (tag.empty() ? "" : ", ") + bold(names.substr(0, comma));
    if (comma == std::string_view::npos) break;
    names.remove_prefix(comma + 1);
  }
  return tag + (value_name.empty() ? "" : " " + italic(value_name));
}

void append_entry(std::string& page, const std::string& tag, std::string_view help) {
  page += ".TP\n" + tag + "\n" + troff(help) + "\n";
}

// The first sentence, without its full stop.
std::string_view summary_of(std::string_view description) {
  const std::string_view line = description.substr(0, description.find('\n'));
  const std::size_t stop = line.find(". ");
  std::string_view summary = line.substr(0, stop);
  if (summary.ends_with('.')) summary.remove_suffix(1);
  return summary;
}

void append_options(std::string& page, const CommandLine& command) {
  bool is_first = true;
  for (const OptionGroup& group : command.groups) {
    page += heading(group.title);
    for (const Option& option : group.options) {
      if (option.help.empty()) continue;
      append_entry(page, option_tag(option.names, option.value_name), option.help);
    }
    if (is_first) append_entry(page, option_tag("-h,--help", ""), "show this help");
    is_first = false;
  }
}

}  // namespace

std::string man_page(const CommandLine& command) {
  const std::string name = dashed(command.name);
  std::string title = heading(name).substr(4);  // in capitals, with the line's end
  title.pop_back();
  std::string page = ".TH \"" + title + "\" 1 \"\" \"Glovebox\" \"Glovebox Manual\"\n";
  page += heading("Name") + troff(name) + " \\- " + troff(summary_of(command.description)) + "\n";
  page += heading("Synopsis") + bold(command.name) +
          troff(std::string_view(usage_of(command)).substr(command.name.size())) + "\n";
  page += heading("Description");
  std::string_view description = command.description;
  while (!description.empty()) {
    const std::size_t end = std::min(description.find('\n'), description.size());
    page += troff(description.substr(0, end)) + "\n.PP\n";
    description.remove_prefix(std::min(end + 1, description.size()));
  }
  if (!command.subcommands.empty()) page += heading("Commands");
  for (const Subcommand& one : command.subcommands) {
    append_entry(page, bold(one.name) + (one.operands.empty() ? "" : " " + italic(one.operands)),
                 one.help);
  }
  append_options(page, command);
  if (!command.notes.empty()) {
    page += heading("Notes") + ".nf\n" + troff(command.notes) + ".fi\n";
  }
  return page;
}

}  // namespace glovebox::options
