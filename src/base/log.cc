#include "base/log.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "base/hex.h"
#include "base/log_format.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

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

Format chosen_format() {
  static const Format format = [] {
    const char* wanted = std::getenv("GLOVEBOX_LOG_FORMAT");
    return wanted != nullptr && std::string_view(wanted) == "json" ? Format::kJson : Format::kText;
  }();
  return format;
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

// A JSON string without control characters. Bytes that are not UTF-8 become U+FFFD.
void append_json(std::string& line, std::string_view value) {
  line += '"';
  const std::string text = to_utf8(value);
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    const auto byte = static_cast<unsigned char>(c);
    // U+0080 to U+009F: some terminals take them for the beginning of a control sequence.
    const bool is_c1 = byte == 0xc2 && static_cast<unsigned char>(text[at + 1]) < 0xa0;
    if (c == '"' || c == '\\') {
      line += '\\';
      line += c;
    } else if (is_c1) {
      line += "\\u00";
      append_hex(line, static_cast<unsigned char>(text[++at]));
    } else if (byte < 0x20 || byte == 0x7f) {
      line += "\\u00";
      append_hex(line, byte);
    } else {
      line += c;
    }
  }
  line += '"';
}

std::string text_line(std::string_view time, std::string_view level, std::string_view message,
                      Fields fields) {
  std::string line(time);
  line += " glovebox ";
  line += level;
  line += ": ";
  line += message;
  for (const auto& [key, value] : fields) {
    line += ' ';
    line += key;
    line += '=';
    append_escaped(line, value);
  }
  if (line.size() > kLongestLine) line.replace(kLongestLine - 3, std::string::npos, "...");
  return line;
}

// `most`: bytes of each value that are kept.
std::string json_line(std::string_view time, std::string_view level, std::string_view message,
                      Fields fields, std::size_t most) {
  std::string line = "{\"time\":";
  append_json(line, time);
  line += ",\"level\":";
  append_json(line, level);
  line += ",\"message\":";
  append_json(line, message);
  bool is_cut = false;
  for (const auto& [key, value] : fields) {
    line += ',';
    append_json(line, key);
    line += ':';
    append_json(line, std::string_view(value).substr(0, most));
    is_cut = is_cut || value.size() > most;
  }
  return line + (is_cut ? ",\"cut\":true}" : "}");
}

// Lines that found no room since one last did.
std::atomic<unsigned> dropped{0};

// A reader that does not read must not block us: then lines are dropped, and their number is logged
// with the next one that gets through. A pipe that poll calls writable takes PIPE_BUF bytes at
// once.
void write_if_room(std::string line) {
  pollfd out{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&out, 1, 0) == 0) {
    ++dropped;
    return;
  }
  if (const unsigned lost = dropped.exchange(0); lost > 0) {
    const std::string notice = format_line(chosen_format(), wall_clock_ms(), "warn",
                                           "the log's reader was too slow: lines were dropped",
                                           {{"count", std::to_string(lost)}}) +
                               "\n";
    (void)!::write(STDERR_FILENO, notice.data(), notice.size());
  }
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void write_line(Level level, std::string_view name, std::string_view message, Fields fields) {
  if (level < threshold()) return;
  write_if_room(format_line(chosen_format(), wall_clock_ms(), name, message, fields));
}

}  // namespace

std::string format_line(Format format, std::int64_t at_ms, std::string_view level,
                        std::string_view message, Fields fields) {
  const std::string time = utc_text(at_ms);
  if (format == Format::kText) return text_line(time, level, message, fields);
  // A line that is cut anywhere would be no JSON: its values are cut, until it fits.
  for (std::size_t most = kLongestLine; most > 0; most /= 2) {
    std::string line = json_line(time, level, message, fields, most);
    if (line.size() <= kLongestLine) return line;
  }
  return json_line(time, level, message, {}, 0);
}

void debug(std::string_view message, Fields fields) {
  write_line(kDebug, "debug", message, fields);
}
void info(std::string_view message, Fields fields) { write_line(kInfo, "info", message, fields); }
void warn(std::string_view message, Fields fields) { write_line(kWarn, "warn", message, fields); }

}  // namespace glovebox::log
