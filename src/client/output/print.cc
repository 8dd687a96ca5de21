#include "client/output/print.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8_cut.h"
#include "model/outcome.h"

namespace glovebox::client {
namespace {

constexpr int kExitRefused = 1;

int print_error(const std::string& message, int status) {
  std::fprintf(stderr, "glovebox: %s\n", printable_lines(message).c_str());
  return status;
}

// Counts UTF-8 lead bytes; wide characters are not treated specially.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !is_utf8_continuation(c); }));
}

}  // namespace

std::string printable_lines(std::string_view message) {
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  std::string lines;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    // Indented, so that a server cannot forge a line that begins with "glovebox: ".
    lines += (begin == 0 ? "" : "\n  ") + printable(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

int usage_error(const std::string& message) { return print_error(message, kExitUsage); }
int failure(const Error& error) { return print_error(error.message(), kExitGloveboxFailed); }
int server_refused(const std::string& message) { return print_error(message, kExitRefused); }

int usage_error_or_failure(const Error& error) {
  return error.code() == Errc::kInvalidArgument ? usage_error(error.message()) : failure(error);
}

std::optional<int> parse_arguments(const options::CommandLine& command,
                                   std::span<const std::string> words,
                                   options::Arguments& arguments) {
  auto parsed = options::parse(command, words);
  if (!parsed) return usage_error(parsed.error().message());
  if (!parsed->help.empty()) {
    print(parsed->help);
    return 0;
  }
  arguments = std::move(*parsed);
  return std::nullopt;
}

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(printable(row[i])));
    }
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = printable(row[i]);
      line += cell;
      line.append(widths[i] - width_of(cell) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace glovebox::client
