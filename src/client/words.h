// The words behind a command: options and what is left. Each command says which options it has;
// every mistake is one clear line.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace glovebox::client {

// "--json" sets a bool; "--name NAME" and "--name=NAME" a string: given again, the last one counts.
// A list takes each.
struct Option {
  std::string_view name;
  std::variant<bool*, std::string*, std::vector<std::string>*> to;
};

// What is no option, in its order. `command` is for the message: "key create".
Result<std::vector<std::string>> take_options(std::span<const std::string> words,
                                              std::span<const Option> options,
                                              std::string_view command);

// A whole number from 0 to `most`.
Result<std::uint64_t> parse_count(std::string_view text, std::string_view option,
                                  std::uint64_t most);

// A size in whole megabytes, at least one: "512M", "2G".
Result<std::uint64_t> parse_megabytes(const std::string& text, std::string_view option);

}  // namespace glovebox::client
