#include "cli/commands/template.h"

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <vector>

#include "cli/client_program.h"
#include "cli/print.h"

namespace glovebox::cli {
namespace {

namespace json = boost::json;

ParseTemplate parse_template = nullptr;

// "/etc/glovebox/templates/data-science.toml" is the file of "data-science".
Result<std::string> template_name_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  if (!name.ends_with(".toml") || name.size() == 5) {
    return fail(Errc::kInvalidArgument, path + ": the file name of a template must be NAME.toml");
  }
  name.resize(name.size() - 5);
  return name;
}

Result<Template> check_template_file(const std::string& path) {
  TRY(const std::string name, template_name_of(path));
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return fail(Error::from_errno(path));
  return parse_template(text.str(), name, path);
}

int check_command(std::span<const std::string> args) {
  bool as_json = false;
  const options::CommandLine command{
      .name = "glovebox template check",
      .usage = {"FILE"},
      .description = "Validate a template file, as the launcher does. Needs no server.",
      .groups = {{"Options", {{"--json", "", "print one JSON object", &as_json}}}},
      .most_operands = 1};
  options::Arguments arguments;
  if (const auto status = parse_arguments(command, args, arguments)) return *status;
  if (arguments.operands.empty()) {
    return usage_error("missing FILE (see `glovebox template --help`)");
  }
  const std::string& path = arguments.operands[0];
  const auto checked = check_template_file(path);
  if (as_json) {
    json::object result{{"file", path}, {"ok", checked.has_value()}, {"error", nullptr}};
    if (!checked) result["error"] = checked.error().message();
    std::printf("%s\n", json::serialize(result).c_str());
  } else if (checked) {
    std::printf("%s: template '%s' is valid\n", printable(path).c_str(), checked->name.c_str());
  }
  if (checked) return 0;
  if (!as_json)
    std::fprintf(stderr, "glovebox: %s\n", printable(checked.error().message()).c_str());
  return 1;
}

}  // namespace

void set_template_parser(ParseTemplate parse) { parse_template = parse; }

int template_command(std::span<const std::string> args) {
  const bool wants_help = std::any_of(args.begin(), args.end(), [](const std::string& word) {
    return word.starts_with("--help") || word == "-h";
  });
  if (!args.empty() && args[0] == "check" && !wants_help) return check_command(args.subspan(1));
  return exec_client_program("template", args);
}

}  // namespace glovebox::cli
