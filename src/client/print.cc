#include "client/print.h"

#include <algorithm>
#include <cstdio>

#include "model/outcome.h"
#include "wire/utf8.h"

namespace glovebox::client {
namespace {

constexpr int kExitRefused = 1;

int print_message(const std::string& message, int status) {
  std::fprintf(stderr, "glovebox: %s\n", printable_lines(message).c_str());
  return status;
}

// Bytes that begin a character: good enough for the names people give.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u;
  }));
}

}  // namespace

void print_text(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

std::string printable_lines(std::string_view message) {
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  std::string lines;
  for (std::size_t begin = 0; begin <= message.size();) {
    const std::size_t end = std::min(message.find('\n', begin), message.size());
    // What is not the first line cannot look like one of ours.
    lines += (begin == 0 ? "" : "\n  ") + printable(message.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

int usage_error(const std::string& message) { return print_message(message, kExitUsage); }
int failure(const Error& error) { return print_message(error.message(), kExitGloveboxFailed); }
int refused(const std::string& message) { return print_message(message, kExitRefused); }

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
