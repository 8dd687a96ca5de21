#include "cli/commands/template.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/print.h"
#include "cli/client_program.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;

ParseTemplate parse_template = nullptr;

// "/etc/glovebox/templates/data-science.toml" is the file of "data-science".
Result<std::string> name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (!name.ends_with(".toml") || name.size() == 5) {
    return fail(Errc::kInvalidArgument,
                path + ": a template's file is called like the template: NAME.toml");
  }
  name.resize(name.size() - 5);
  return name;
}

Result<Template> check(const std::string& path) {
  TRY(const std::string name, name_of(path));
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(Error::from_errno(path));
  return parse_template(text.str(), name, path);
}

int check_command(std::span<const std::string> args) {
  bool is_json = false;
  std::vector<std::string> files;
  for (const std::string& word : args) {
    if (word == "--json") {
      is_json = true;
    } else if (word.starts_with("-")) {
      return usage_error("unknown option '" + word + "'; see `glovebox template --help`");
    } else {
      files.push_back(word);
    }
  }
  if (files.size() != 1) return usage_error("say `glovebox template check FILE`");
  const auto checked = check(files[0]);
  if (is_json) {
    json::object said{{"file", files[0]}, {"ok", checked.has_value()}, {"error", nullptr}};
    if (!checked) said["error"] = checked.error().message();
    std::printf("%s\n", json::serialize(said).c_str());
  } else if (checked) {
    std::printf("%s: template '%s' is good\n", printable(files[0]).c_str(), checked->name.c_str());
  }
  if (checked) return 0;
  if (!is_json)
    std::fprintf(stderr, "glovebox: %s\n", printable(checked.error().message()).c_str());
  return 1;
}

}  // namespace

void check_templates_with(ParseTemplate parse) { parse_template = parse; }

int template_command(std::span<const std::string> args) {
  const bool wants_help = std::any_of(args.begin(), args.end(), [](const std::string& word) {
    return word == "--help" || word == "-h";
  });
  if (!args.empty() && args[0] == "check" && !wants_help) return check_command(args.subspan(1));
  return become_server_command("template", args);
}

}  // namespace glovebox::cli
