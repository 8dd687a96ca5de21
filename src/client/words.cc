#include "client/words.h"

#include <charconv>

#include "base/units.h"

namespace glovebox::client {
namespace {

const Option* option_named(std::span<const Option> options, std::string_view name) {
  for (const Option& option : options) {
    if (option.name == name) return &option;
  }
  return nullptr;
}

}  // namespace

Result<std::vector<std::string>> take_options(std::span<const std::string> words,
                                              std::span<const Option> options,
                                              std::string_view command) {
  std::vector<std::string> rest;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (!word.starts_with("-") || word == "-") {
      rest.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option* option = option_named(options, name);
    if (option == nullptr) {
      return fail_invalid("unknown option '" + name + "'; see `glovebox " + std::string(command) +
                          " --help`");
    }
    if (bool* const* flag = std::get_if<bool*>(&option->to)) {
      if (equals != std::string::npos) return fail_invalid(name + " takes no value");
      **flag = true;
      continue;
    }
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (i + 1 < words.size()) {
      value = words[++i];
    } else {
      return fail_invalid(name + " needs a value");
    }
    if (value.empty()) return fail_invalid(name + " needs a value");
    if (auto* const* all = std::get_if<std::vector<std::string>*>(&option->to)) {
      (*all)->push_back(std::move(value));
    } else {
      *std::get<std::string*>(option->to) = std::move(value);
    }
  }
  return rest;
}

Result<std::uint64_t> parse_count(std::string_view text, std::string_view option,
                                  std::uint64_t most) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number > most) {
    return fail_invalid(std::string(option) + " must be a whole number from 0 to " +
                        std::to_string(most));
  }
  return number;
}

Result<std::uint64_t> parse_megabytes(const std::string& text, std::string_view option) {
  auto bytes = parse_size(text);
  if (!bytes) return fail(std::move(bytes.error()).context(option));
  if (*bytes < kMegabyte) return fail_invalid(std::string(option) + " must be at least 1M");
  return *bytes / kMegabyte;
}

}  // namespace glovebox::client
