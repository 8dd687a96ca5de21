// The languages of code contexts: their names, and how a cold interpreter is started.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace glovebox::sessions {

enum class Language : std::uint8_t { kPython = 1, kBash, kJavascript, kTypescript, kR, kJava };

struct LanguageFacts {
  Language language;
  std::string_view name;
  std::vector<std::string_view> also;
  std::vector<std::string> command;
  std::string_view package;  // of Debian: what the host needs for it
  std::chrono::seconds is_ready_within;
};

const LanguageFacts& language_facts(Language language);
std::string_view language_name(Language language);
// Also accepts common aliases: "py", "shell", "node", "ts".
std::optional<Language> parse_language(std::string_view word);
std::vector<std::string_view> language_names();
// For messages: "python, bash, javascript, typescript, r or java".
std::string language_list();

}  // namespace glovebox::sessions
