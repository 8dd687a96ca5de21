#include "cli/commands/config.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "cli/print.h"
#include "config/value.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;
using config::Kind;
using config::SettingValue;

bool bool_value(const SettingValue& entry) {
  config::Settings settings;
  (void)config::assign(settings, *entry.key, entry.text);  // load() has checked it
  return settings.*std::get<bool config::Settings::*>(entry.key->member);
}

// In TOML: numbers and booleans bare, everything else quoted.
std::string toml_value(const SettingValue& entry) {
  if (entry.key->kind == Kind::kNumber) return entry.text;
  if (entry.key->kind == Kind::kBool) return bool_value(entry) ? "true" : "false";
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

json::value json_value(const SettingValue& entry) {
  if (entry.key->kind == Kind::kNumber) return std::stoull(entry.text);
  if (entry.key->kind == Kind::kBool) return bool_value(entry);
  if (entry.key->kind != Kind::kList) return json::string(entry.text);
  json::array list;
  for (const std::string& one : config::split_list(entry.text)) list.emplace_back(one);
  return list;
}

std::string section_of(const SettingValue& entry) {
  return std::string(entry.key->name.substr(0, entry.key->name.find('.')));
}

}  // namespace

std::string config_text(const config::SettingTable& table) {
  std::size_t width = 0;
  const auto line_of = [](const SettingValue& entry) {
    return std::string(entry.key->name) + " = " + toml_value(entry);
  };
  for (const SettingValue& entry : table) width = std::max(width, line_of(entry).size());
  width = std::min<std::size_t>(width, 60);
  std::string text;
  std::string section;
  for (const SettingValue& entry : table) {
    if (!section.empty() && section != section_of(entry)) text += '\n';
    section = section_of(entry);
    std::string line = line_of(entry);
    if (line.size() < width) line.append(width - line.size(), ' ');
    text += line + "  # " + entry.origin + "\n";
  }
  return text;
}

std::string config_json(const config::SettingTable& table) {
  json::object all;
  for (const SettingValue& entry : table) {
    all[entry.key->name] = {{"value", json_value(entry)},
                            {"origin", entry.origin},
                            {"default", entry.key->default_text},
                            {"variable", config::variable_of(*entry.key)},
                            {"help", entry.key->help}};
  }
  return json::serialize(all) + "\n";
}

int config_command(std::span<const std::string> args) {
  config::SettingFlags flags;
  bool as_json = false;
  const options::CommandLine command{
      .name = "glovebox config",
      .usage = {"[OPTIONS]"},
      .description =
          "Print every setting of `glovebox serve` with these options, its value and its origin. "
          "The "
          "output is a valid settings file.",
      .groups = {{"Options", {{"--json", "", "print one JSON object", &as_json}}},
                 {"Settings", flags.options()}}};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  const auto loaded = config::load(std::move(flags), config::ProcessEnvironment::current());
  if (!loaded) return usage_error(loaded.error().message());
  const std::string text = as_json ? config_json(loaded->table) : config_text(loaded->table);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

}  // namespace glovebox::cli
