#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/hex.h"

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
  line += '"';
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      line += "\\x";
      append_hex(line, byte);
    } else {
      line += c;
    }
  }
  line += '"';
}

// Lines that found no room since one last did.
std::atomic<unsigned> dropped{0};

// A reader that does not read must not stop us: then lines are dropped, and how many is said with
// the next one that gets through. A pipe that poll calls writable takes PIPE_BUF bytes at once.
void write_if_room(std::string line) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 0) {
    ++dropped;
    return;
  }
  if (const unsigned lost = dropped.exchange(0); lost > 0) {
    line.insert(0, "glovebox warn: the log's reader was too slow: lines were dropped count=\"" +
                       std::to_string(lost) + "\"\n");
  }
  if (line.size() >= PIPE_BUF) line.replace(PIPE_BUF - 4, std::string::npos, "...");
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());
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
  write_if_room(std::move(line));
}

}  // namespace

void debug(std::string_view message, Fields fields) {
  write_line(kDebug, "debug", message, fields);
}
void info(std::string_view message, Fields fields) { write_line(kInfo, "info", message, fields); }
void warn(std::string_view message, Fields fields) { write_line(kWarn, "warn", message, fields); }

}  // namespace glovebox::log
