#include "cli/print.h"

#include <cstdio>

#include "model/outcome.h"

namespace glovebox::cli {

int usage_error(const std::string& message) {
  std::fprintf(stderr, "glovebox: %s\n", printable(message).c_str());
  return kExitUsage;
}

int failure(const Error& error) {
  std::fprintf(stderr, "glovebox: %s\n", printable(error.message()).c_str());
  return kExitGloveboxFailed;
}

std::optional<int> parse_arguments(const options::CommandLine& command,
                                   std::span<const std::string> words,
                                   options::Arguments& arguments) {
  auto parsed = options::parse(command, words);
  if (!parsed) return usage_error(parsed.error().message());
  if (!parsed->help.empty()) {
    std::fputs(parsed->help.c_str(), stdout);
    return 0;
  }
  arguments = std::move(*parsed);
  return std::nullopt;
}

}  // namespace glovebox::cli
