#include "sessions/contexts/context_languages.h"

#include <algorithm>

namespace glovebox::sessions {
namespace {

using std::chrono::seconds;

const std::vector<LanguageFacts>& languages() {
  static const std::vector<LanguageFacts> all = {
      {Language::kPython,
       "python",
       {"python3", "py"},
       {"/usr/bin/python3", "-I", "/opt/glovebox/python/context.py"},
       "python3",
       seconds(10)},
      {Language::kBash,
       "bash",
       {"sh", "shell"},
       {"/bin/bash", "/opt/glovebox/bash/context.sh"},
       "bash",
       seconds(10)},
      {Language::kJavascript,
       "javascript",
       {"js", "node"},
       {"/usr/bin/node", "/opt/glovebox/node/context.js"},
       "nodejs",
       seconds(10)},
      {Language::kTypescript,
       "typescript",
       {"ts"},
       {"/usr/bin/node", "/opt/glovebox/node/context.js", "typescript"},
       "node-typescript",
       seconds(20)},
      {Language::kR,
       "r",
       {},
       {"/usr/bin/Rscript", "--no-init-file", "--no-environ", "/opt/glovebox/r/context.R"},
       "r-base-core",
       seconds(20)},
      // Compiles its own program first. One collector's thread and one compiler are enough for it.
      {Language::kJava,
       "java",
       {},
       {"/usr/bin/java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
        "-Dfile.encoding=UTF-8", "--add-opens=java.base/java.io=ALL-UNNAMED",
        "--add-opens=java.base/java.lang=ALL-UNNAMED",
        "--add-opens=java.base/java.util=ALL-UNNAMED", "/opt/glovebox/java/Context.java"},
       "openjdk-17-jdk-headless",
       seconds(40)},
  };
  return all;
}

}  // namespace

const LanguageFacts& language_facts(Language language) {
  return *std::find_if(languages().begin(), languages().end(),
                       [language](const auto& one) { return one.language == language; });
}

std::string_view language_name(Language language) { return language_facts(language).name; }

std::optional<Language> parse_language(std::string_view word) {
  for (const LanguageFacts& one : languages()) {
    if (one.name == word || std::find(one.also.begin(), one.also.end(), word) != one.also.end()) {
      return one.language;
    }
  }
  return std::nullopt;
}

std::vector<std::string_view> language_names() {
  std::vector<std::string_view> names;
  for (const LanguageFacts& one : languages()) names.push_back(one.name);
  return names;
}

std::string language_list() {
  std::string list;
  for (const LanguageFacts& one : languages()) {
    if (!list.empty()) list += &one == &languages().back() ? " or " : ", ";
    list += one.name;
  }
  return list;
}

}  // namespace glovebox::sessions
