#include "cli/commands/config.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "cli/print.h"
#include "config/value.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;
using config::Entry;
using config::Kind;

constexpr const char* kConfigUsage =
    "usage: glovebox config [OPTIONS]\n"
    "\n"
    "Prints every setting of `glovebox serve` with these options, its value and where it comes\n"
    "from. The output is a settings file itself.\n"
    "\n"
    "  --json                 one JSON object instead\n";
constexpr const char* kConfigHelp = "  --help                 this text\n";

bool truth_of(const Entry& entry) {
  config::Settings settings;
  (void)config::assign(settings, *entry.key, entry.text);  // it was checked when it was loaded
  return settings.*std::get<bool config::Settings::*>(entry.key->member);
}

// As it may stand in the file: numbers and truth values bare, the rest quoted.
std::string toml_value(const Entry& entry) {
  if (entry.key->kind == Kind::kNumber) return entry.text;
  if (entry.key->kind == Kind::kBool) return truth_of(entry) ? "true" : "false";
  const auto quoted = [](std::string_view text) {
    std::string made = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') made += '\\';
      made += c;
    }
    return made + "\"";
  };
  if (entry.key->kind != Kind::kList) return quoted(entry.text);
  std::string list = "[";
  for (const std::string& one : config::split_list(entry.text)) {
    list += (list.size() > 1 ? ", " : "") + quoted(one);
  }
  return list + "]";
}

json::value json_value(const Entry& entry) {
  if (entry.key->kind == Kind::kNumber) return std::stoull(entry.text);
  if (entry.key->kind == Kind::kBool) return truth_of(entry);
  if (entry.key->kind != Kind::kList) return json::string(entry.text);
  json::array list;
  for (const std::string& one : config::split_list(entry.text)) list.emplace_back(one);
  return list;
}

std::string section_of(const Entry& entry) {
  return std::string(entry.key->name.substr(0, entry.key->name.find('.')));
}

}  // namespace

std::string config_text(const config::Table& table) {
  std::size_t width = 0;
  const auto line_of = [](const Entry& entry) {
    return std::string(entry.key->name) + " = " + toml_value(entry);
  };
  for (const Entry& entry : table) width = std::max(width, line_of(entry).size());
  width = std::min<std::size_t>(width, 60);
  std::string text;
  std::string section;
  for (const Entry& entry : table) {
    if (!section.empty() && section != section_of(entry)) text += '\n';
    section = section_of(entry);
    std::string line = line_of(entry);
    if (line.size() < width) line.append(width - line.size(), ' ');
    text += line + "  # " + entry.origin + "\n";
  }
  return text;
}

std::string config_json(const config::Table& table) {
  json::object all;
  for (const Entry& entry : table) {
    all[entry.key->name] = {{"value", json_value(entry)},
                            {"origin", entry.origin},
                            {"default", entry.key->default_text},
                            {"variable", config::variable_of(*entry.key)},
                            {"help", entry.key->help}};
  }
  return json::serialize(all) + "\n";
}

int config_command(std::span<const std::string> args) {
  if (std::find(args.begin(), args.end(), "--help") != args.end()) {
    std::printf("%s%s%s", kConfigUsage, config::kOptionsHelp, kConfigHelp);
    return 0;
  }
  const auto loaded = config::load(args, config::Surroundings::here());
  if (!loaded) return usage_error(loaded.error().message());
  bool is_json = false;
  for (const std::string& word : loaded->rest) {
    if (word != "--json")
      return usage_error("unknown option '" + word + "'; see `glovebox config --help`");
    is_json = true;
  }
  const std::string text = is_json ? config_json(loaded->table) : config_text(loaded->table);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace glovebox::cli
