#include "base/log.h"

#include <unistd.h>

#include <cstdlib>

namespace glovebox::log {
namespace {

enum Level { kDebug, kInfo, kWarn };

Level threshold() {
  static const Level level = [] {
    const char* wanted = std::getenv("GLOVEBOX_LOG");
    const std::string_view text = wanted != nullptr ? wanted : "";
    return text == "debug" ? kDebug : text == "info" ? kInfo : kWarn;
  }();
  return level;
}

void append_escaped(std::string& line, std::string_view value) {
  static constexpr char kHex[] = "0123456789abcdef";
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      line += "\\x";
      line += kHex[byte >> 4];
      line += kHex[byte & 15];
    } else {
      line += c;
    }
  }
  line += '"';
}

void write_line(Level level, std::string_view name, std::string_view message, Fields fields) {
  if (level < threshold()) return;
  std::string line = "glovebox ";
  line += name;
  line += ": ";
  line += message;
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    append_escaped(line, value);
  }
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

void debug(std::string_view message, Fields fields) {
  write_line(kDebug, "debug", message, fields);
}
void info(std::string_view message, Fields fields) { write_line(kInfo, "info", message, fields); }
void warn(std::string_view message, Fields fields) { write_line(kWarn, "warn", message, fields); }

}  // namespace glovebox::log
