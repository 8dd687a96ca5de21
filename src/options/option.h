// One option of a command: how it is written, what --help says of it, and where its value goes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace glovebox::options {

// An option whose URL may be left out: `--server`, `--server URL`, `--server=URL`. The next word is
// its value only if it begins with http:// or https://.
struct OptionalUrl {
  bool given = false;
  std::string url;
};

// What the type of the target means:
//   bool                    a flag; it takes no value
//   std::string             a value that is not empty; given again, the last one counts
//   std::optional<string>   the same, but the value may be empty
//   std::vector<string>     may be given again; collects every value
//   OptionalUrl             see above
//   TakeValue               called with every value, in the order of the command line; its error is
//                           the parser's
using TakeValue = std::function<Result<>(std::string value)>;
using Target = std::variant<bool*, std::string*, std::optional<std::string>*,
                            std::vector<std::string>*, OptionalUrl*, TakeValue>;

struct Option {
  std::string_view names;       // "-c,--code" or "--json"
  std::string_view value_name;  // "CODE", as --help shows it; empty for a flag
  std::string_view help;        // one phrase, wrapped by --help; empty: --help does not show it
  Target target;
  // Names that are still accepted and not shown: "--lang", or several with commas.
  std::string_view former_names{};
};

struct OptionGroup {
  std::string_view title;  // "Options"
  std::vector<Option> options;
};

}  // namespace glovebox::options
