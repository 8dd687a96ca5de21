#include "options/command_line.h"

#include <algorithm>
#include <charconv>

#include "base/nearest.h"
#include "options/help_text.h"
#include "options/man_page.h"

namespace glovebox::options {
namespace {

tl::unexpected<Error> usage_mistake(std::string message) {
  return fail(Errc::kInvalidArgument, std::move(message));
}

std::string shortened(std::string_view word) {
  constexpr std::size_t kMost = 200;
  return std::string(word.substr(0, kMost)) + (word.size() > kMost ? "..." : "");
}

bool is_url(std::string_view word) {
  return word.starts_with("http://") || word.starts_with("https://");
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }
bool is_short(std::string_view word) { return is_option(word) && word[1] != '-'; }

// "-c,--code" has both names.
bool list_has(std::string_view names, std::string_view name) {
  if (name.empty()) return false;
  while (true) {
    const std::size_t comma = names.find(',');
    if (names.substr(0, comma) == name) return true;
    if (comma == std::string_view::npos) return false;
    names.remove_prefix(comma + 1);
  }
}

bool has_name(const Option& option, std::string_view name) {
  return list_has(option.names, name) || list_has(option.former_names, name);
}

using OptionList = std::vector<const Option*>;

const Option* find_option(const OptionList& options, std::string_view name) {
  const auto found = std::find_if(options.begin(), options.end(),
                                  [&](const Option* option) { return has_name(*option, name); });
  return found == options.end() ? nullptr : *found;
}

bool is_flag(const Option& option) { return std::holds_alternative<bool*>(option.target); }

// The words of a command line, read one option at a time.
class WordReader {
 public:
  explicit WordReader(std::span<const std::string> words) : words_(words) {}
  bool at_end() const { return next_ == words_.size(); }
  const std::string& peek() const { return words_[next_]; }
  const std::string& take() { return words_[next_++]; }
  std::span<const std::string> take_rest() {
    const auto rest = words_.subspan(next_);
    next_ = words_.size();
    return rest;
  }

 private:
  std::span<const std::string> words_;
  std::size_t next_ = 0;
};

// `inline_value` is what was written behind '=' or a short option's letter.
Result<> assign(const Option& option, std::string_view name,
                const std::optional<std::string>& inline_value, WordReader& words) {
  if (bool* const* flag = std::get_if<bool*>(&option.target)) {
    if (inline_value) return usage_mistake(std::string(name) + " takes no value");
    **flag = true;
    return {};
  }
  if (OptionalUrl* const* url = std::get_if<OptionalUrl*>(&option.target)) {
    (*url)->given = true;
    if (inline_value) {
      (*url)->url = *inline_value;
    } else if (!words.at_end() && is_url(words.peek())) {
      (*url)->url = words.take();
    }
    return {};
  }
  std::optional<std::string> value = inline_value;
  if (!value && !words.at_end()) value = words.take();
  auto* const* may_be_empty = std::get_if<std::optional<std::string>*>(&option.target);
  if (!value || (value->empty() && may_be_empty == nullptr)) {
    return usage_mistake(std::string(name) + " needs a value");
  }
  if (may_be_empty != nullptr) {
    **may_be_empty = std::move(value);
  } else if (auto* const* list = std::get_if<std::vector<std::string>*>(&option.target)) {
    (*list)->push_back(std::move(*value));
  } else if (const TakeValue* take = std::get_if<TakeValue>(&option.target)) {
    return (*take)(std::move(*value));
  } else {
    *std::get<std::string*>(option.target) = std::move(*value);
  }
  return {};
}

// Whether `word` is one of `options`; if so it is assigned, with its value.
Result<bool> take_one(const OptionList& options, const std::string& word, WordReader& words) {
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(0, equals);
  if (const Option* option = find_option(options, name)) {
    std::optional<std::string> inline_value;
    if (equals != std::string::npos) inline_value = word.substr(equals + 1);
    TRY_OK(assign(*option, name, inline_value, words));
    return true;
  }
  if (!is_short(word) || word.size() < 3) return false;
  // "-cCODE", or several flags in one word: "-td".
  OptionList flags;
  for (std::size_t i = 1; i < word.size(); ++i) {
    const std::string letter = std::string("-") + word[i];
    const Option* option = find_option(options, letter);
    if (option == nullptr) return false;
    if (!is_flag(*option)) {
      for (const Option* flag : flags) TRY_OK(assign(*flag, letter, std::nullopt, words));
      TRY_OK(assign(*option, letter, word.substr(i + 1), words));
      return true;
    }
    flags.push_back(option);
  }
  for (const Option* flag : flags) TRY_OK(assign(*flag, word, std::nullopt, words));
  return true;
}

std::string see_help(const CommandLine& command) {
  return " (see `" + std::string(command.name) + " --help`)";
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string_view near = nearest(word, candidates);
  return near.empty() ? "" : "; did you mean '" + std::string(near) + "'?";
}

// The one that --help shows last.
std::string long_name(const Option& option) {
  return std::string(option.names.substr(option.names.find(',') + 1));  // npos + 1 is 0
}

tl::unexpected<Error> unknown_option(const CommandLine& command, std::string_view word,
                                     const OptionList& options) {
  const std::string name(word.substr(0, word.find('=')));
  std::vector<std::string> known = {"--help"};
  std::vector<std::string> former;
  for (const Option* option : options) {
    known.push_back(long_name(*option));
    former.emplace_back(option->former_names.substr(0, option->former_names.find(',')));
  }
  std::string suggestion = did_you_mean(name, known);
  if (const std::string_view near = nearest(name, former); suggestion.empty() && !near.empty()) {
    suggestion = "; did you mean '" + long_name(*find_option(options, near)) + "'?";
  }
  const bool may_be_the_programs =
      suggestion.empty() && command.has_program_arguments && !command.has_program_after_operands;
  return usage_mistake("unknown option '" + shortened(name) + "'" + suggestion +
                       (may_be_the_programs ? "; options of the program follow `--`" : "") +
                       see_help(command));
}

// The first operand names the subcommand.
Result<> take_subcommand(const CommandLine& command, Arguments& arguments) {
  std::vector<std::string> known;
  std::string all;
  for (const Subcommand& one : command.subcommands) {
    known.emplace_back(one.name);
    const bool is_last = known.size() == command.subcommands.size();
    all += (all.empty() ? "" : is_last ? " or " : ", ") + std::string(one.name);
  }
  if (arguments.operands.empty()) {
    return usage_mistake("missing subcommand: " + all + see_help(command));
  }
  const std::string name = arguments.operands.front();
  const auto found = std::find_if(
      command.subcommands.begin(), command.subcommands.end(),
      [&](const auto& one) { return one.name == name || list_has(one.aliases, name); });
  if (found == command.subcommands.end()) {
    const std::string suggestion = did_you_mean(name, known);
    return usage_mistake("unknown subcommand '" + shortened(name) + "'" +
                         (suggestion.empty() ? "; expected " + all : suggestion) +
                         see_help(command));
  }
  const Subcommand& subcommand = *found;
  arguments.subcommand = subcommand.name;
  arguments.operands.erase(arguments.operands.begin());
  const std::size_t count = arguments.operands.size();
  if (count >= subcommand.least_operands && count <= subcommand.most_operands) return {};
  const std::string form = "`" + std::string(command.name) + " " + name +
                           (subcommand.operands.empty() ? "" : " ") +
                           std::string(subcommand.operands) + "`";
  return usage_mistake(
      (count > subcommand.most_operands
           ? "unexpected argument '" + shortened(arguments.operands[subcommand.most_operands]) + "'"
           : "missing argument") +
      std::string(": expected ") + form + see_help(command));
}

}  // namespace

Result<Arguments> parse(const CommandLine& command, std::span<const std::string> words) {
  Arguments arguments;
  OptionList options;
  for (const OptionGroup& group : command.groups) {
    for (const Option& option : group.options) options.push_back(&option);
  }
  WordReader reader(words);
  while (!reader.at_end()) {
    const std::string& word = reader.take();
    if (!is_option(word)) {
      if (command.has_program_after_operands &&
          arguments.operands.size() == command.most_operands) {
        arguments.program_arguments.push_back(word);
        const auto rest = reader.take_rest();
        arguments.program_arguments.insert(arguments.program_arguments.end(), rest.begin(),
                                           rest.end());
        break;
      }
      arguments.operands.push_back(word);
      continue;
    }
    if (word == "--") {
      const auto rest = reader.take_rest();
      auto& into = command.has_program_arguments ? arguments.program_arguments : arguments.operands;
      into.insert(into.end(), rest.begin(), rest.end());
      break;
    }
    if (word == "--help" || word == "-h") return Arguments{.help = help_text(command)};
    if (word == "--help=man") return Arguments{.help = man_page(command)};
    auto taken = take_one(options, word, reader);
    if (!taken) return fail(std::move(taken.error()));
    if (!*taken) return unknown_option(command, word, options);
  }
  if (!command.subcommands.empty()) {
    TRY_OK(take_subcommand(command, arguments));
  } else if (arguments.operands.size() > command.most_operands) {
    return usage_mistake("unexpected argument '" +
                         shortened(arguments.operands[command.most_operands]) + "'" +
                         see_help(command));
  }
  return arguments;
}

Result<std::vector<std::string>> take_options(std::span<const Option> options,
                                              std::span<const std::string> words) {
  OptionList list;
  for (const Option& option : options) list.push_back(&option);
  std::vector<std::string> others;
  WordReader reader(words);
  while (!reader.at_end()) {
    const std::string& word = reader.take();
    TRY(const bool taken, take_one(list, word, reader));
    if (!taken) others.push_back(word);
  }
  return others;
}

Result<std::uint64_t> parse_count(std::string_view text, std::string_view option,
                                  std::uint64_t most, std::uint64_t least) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > most || number < least) {
    return usage_mistake(std::string(option) + " must be a whole number from " +
                         std::to_string(least) + " to " + std::to_string(most) + ", not '" +
                         shortened(text) + "'");
  }
  return number;
}

Result<NamedValue> parse_named_value(const std::string& text, std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos) {
    return usage_mistake(std::string(option) + " must be NAME=VALUE, not '" + shortened(text) +
                         "'");
  }
  return NamedValue{text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace glovebox::options
