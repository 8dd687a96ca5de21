#include "config/value.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>

#include "base/units.h"

namespace glovebox::config {
namespace {

tl::unexpected<Error> expected(const Key& key) {
  return fail(Errc::kInvalidArgument, "must be " + expectation(key));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string bounds(const Key& key) {
  const std::string least = std::to_string(key.least);
  if (key.most == ~0ull) return key.least == 0 ? "" : ", at least " + least;
  return " from " + least + " to " + std::to_string(key.most);
}

// Numeric on purpose: our programs are static, and looking a name up would load the host's own
// libraries into them.
bool is_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return false;
  const auto port = whole_number(std::string_view(text).substr(colon + 1));
  if (!port || *port > 65535) return false;
  std::string host = text.substr(0, colon);
  if (host == "localhost") return true;
  unsigned char address[sizeof(in6_addr)];
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), address) == 1;
  }
  return ::inet_pton(AF_INET, host.c_str(), address) == 1;
}

bool is_choice(const Key& key, std::string_view text) {
  std::string_view left = key.choices;
  while (true) {
    const std::size_t bar = left.find('|');
    if (!text.empty() && left.substr(0, bar) == text) return true;
    if (bar == std::string_view::npos) return false;
    left.remove_prefix(bar + 1);
  }
}

Result<std::string> checked_text(const Key& key, const std::string& text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= 0x20 && c != 0x7f; });
  if (!plain) return fail(Errc::kInvalidArgument, "must not contain control characters");
  if (key.kind == Kind::kAddress && !is_address(text)) return expected(key);
  if (key.kind == Kind::kChoice && !is_choice(key, text)) return expected(key);
  if (key.kind == Kind::kPath && !text.empty()) {
    std::error_code error;
    const auto absolute = std::filesystem::absolute(text, error).lexically_normal();
    if (error) return fail(Errc::kInvalidArgument, "is not a path: " + error.message());
    std::string path = absolute.string();
    if (path.size() > 1 && path.back() == '/') path.pop_back();
    return path;
  }
  return text;
}

Result<std::uint64_t> checked_number(const Key& key, const std::string& text) {
  std::uint64_t value = 0;
  if (key.kind == Kind::kSize) {
    const auto size = parse_size(text);
    if (!size) return expected(key);
    value = *size;
  } else {
    const auto number = whole_number(text);
    if (!number) return expected(key);
    value = *number;
  }
  if (value < key.least || value > key.most) return expected(key);
  return value;
}

Result<std::chrono::milliseconds> checked_duration(const Key& key, const std::string& text) {
  if (key.least == 0 && (text == "off" || text == "0")) return std::chrono::milliseconds(0);
  const auto duration = parse_duration(text);
  if (!duration) return expected(key);
  const auto ms = static_cast<std::uint64_t>(duration->count());
  if (ms < key.least || ms > key.most) return expected(key);
  return *duration;
}

Result<bool> checked_bool(const Key& key, const std::string& text) {
  if (text == "true" || text == "yes" || text == "on" || text == "1") return true;
  if (text == "false" || text == "no" || text == "off" || text == "0") return false;
  return expected(key);
}

Result<std::vector<std::string>> checked_list(const std::string& text) {
  std::vector<std::string> entries = split_list(text);
  for (const std::string& entry : entries) {
    if (entry.empty()) return fail(Errc::kInvalidArgument, "has an empty entry");
    for (const unsigned char c : entry) {
      if (c <= 0x20 || c == 0x7f) {
        return fail(Errc::kInvalidArgument, "must not contain blanks or control characters");
      }
    }
  }
  return entries;
}

struct Put {
  Settings& settings;
  const Key& key;
  const std::string& text;

  Result<> operator()(std::string Settings::*member) {
    TRY(settings.*member, checked_text(key, text));
    return {};
  }
  Result<> operator()(std::vector<std::string> Settings::*member) {
    TRY(settings.*member, checked_list(text));
    return {};
  }
  Result<> operator()(std::uint64_t Settings::*member) {
    TRY(settings.*member, checked_number(key, text));
    return {};
  }
  Result<> operator()(std::chrono::milliseconds Settings::*member) {
    TRY(settings.*member, checked_duration(key, text));
    return {};
  }
  Result<> operator()(bool Settings::*member) {
    TRY(settings.*member, checked_bool(key, text));
    return {};
  }
};

}  // namespace

std::optional<std::uint32_t> parse_cpu_quota(std::string_view text) {
  const std::size_t point = text.find('.');
  std::string digits(text.substr(0, point));
  std::string rest(point == std::string_view::npos ? "0" : text.substr(point + 1));
  if (digits.size() > 4 || rest.empty() || rest.size() > 9) return std::nullopt;
  const auto whole = whole_number(digits);
  if (!whole || !whole_number(rest)) return std::nullopt;
  rest.resize(3, '0');  // finer than a thousandth is nothing
  const std::uint64_t thousandths = *whole * 1000 + whole_number(rest).value_or(0);
  if (thousandths < 10 || thousandths > 1'024'000) return std::nullopt;
  return static_cast<std::uint32_t>(thousandths);
}

std::optional<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (error != std::errc{} || end != text.data() + text.size() || port == 0) return std::nullopt;
  return port;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> entries;
  if (trimmed(text).empty()) return entries;
  while (true) {
    const std::size_t comma = text.find(',');
    entries.emplace_back(trimmed(text.substr(0, comma)));
    if (comma == std::string_view::npos) return entries;
    text.remove_prefix(comma + 1);
  }
}

std::string expectation(const Key& key) {
  switch (key.kind) {
    case Kind::kText:
      return "text";
    case Kind::kPath:
      return "a path";
    case Kind::kAddress:
      return "a numeric address (or localhost) and a port, like 127.0.0.1:7070 or [::1]:7070";
    case Kind::kChoice: {
      std::string words = "one of ";
      for (const char c : key.choices) words += c == '|' ? std::string(", ") : std::string(1, c);
      return words;
    }
    case Kind::kList:
      return "a list of texts";
    case Kind::kSize:
      return "a size like 256M, 1.5G or 65536" + (bounds(key).empty() ? "" : "," + bounds(key));
    case Kind::kDuration:
      return "a duration like 10s, 500ms or 2m" +
             (key.least == 0 ? std::string(", or off")
                             : ", from " + std::to_string(key.least) + "ms to " +
                                   std::to_string(key.most / 1000) + "s");
    case Kind::kNumber:
      return "a whole number" + bounds(key);
    case Kind::kBool:
      return "true or false";
  }
  return "something else";
}

Result<> assign(Settings& settings, const Key& key, const std::string& text) {
  return std::visit([&](auto member) { return Put{settings, key, text}(member); }, key.member);
}

}  // namespace glovebox::config
