#include "sessions/processes/signal_names.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <csignal>
#include <cstring>

namespace glovebox::sessions {
namespace {

namespace json = boost::json;

std::optional<int> whole_number(std::string_view text) {
  int number = 0;
  const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || ec != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_signal(int number) { return number >= 1 && number <= 64; }

}  // namespace

std::optional<int> parse_signal(std::string_view word) {
  std::string name(word);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  if (name.starts_with("SIG")) name.erase(0, 3);
  if (const auto number = whole_number(name)) {
    return is_signal(*number) ? number : std::nullopt;
  }
  for (int signal = 1; signal < 32; ++signal) {
    const char* known = ::sigabbrev_np(signal);
    if (known != nullptr && name == known) return signal;
  }
  if (name == "CLD") return SIGCHLD;
  if (name == "IOT") return SIGABRT;
  // Numbered like the kernel and `kill -l` do: libc reserves the first two for itself.
  if (name == "RTMIN") return 34;
  if (name == "RTMAX") return 64;
  if (name.starts_with("RTMIN+")) {
    const auto more = whole_number(std::string_view(name).substr(6));
    if (more && *more >= 0 && *more <= 30) return 34 + *more;
  }
  return std::nullopt;
}

Result<int> read_signal(wire::ObjectReader& fields, std::string_view name) {
  const json::value* value = fields.take(name);
  if (value == nullptr) return fields.bad(name, "is missing");
  std::optional<int> signal;
  if (const json::string* word = value->if_string()) {
    signal = parse_signal({word->data(), word->size()});
  } else if (value->is_int64() &&
             is_signal(static_cast<int>(std::clamp<std::int64_t>(value->get_int64(), 0, 1000)))) {
    signal = static_cast<int>(value->get_int64());
  }
  if (!signal)
    return fields.bad(name, "must be a signal: a name like \"TERM\", or a number from 1 to 64");
  return *signal;
}

std::string signal_name(int signal) {
  const char* name = signal < 32 ? ::sigabbrev_np(signal) : nullptr;
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

}  // namespace glovebox::sessions
