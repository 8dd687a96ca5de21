// `glovebox template list|show|create|delete`: the templates of a server. `check` needs no server:
// `glovebox` does it itself (src/cli/commands/template.cc).
#include <boost/json.hpp>
#include <cstdio>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/output/image_pull.h"
#include "client/output/layer_build.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/template_options.h"
#include "options/package_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

struct TemplateOptions {
  ServerLocationOptions server;
  NewTemplateOptions made;
  bool json = false;
};

options::CommandLine template_command_line(TemplateOptions& shown) {
  NewTemplateOptions& made = shown.made;
  return {
      .name = "glovebox template",
      .description =
          "Manage the templates that sandboxes are created from. `create` and `delete` work on "
          "templates of your key's project, which are based on one of the administrator's. "
          "`check` validates a template file and needs no server.",
      .groups =
          {{"Options",
            {{"--from", "BASE", "create: template to start from (default with packages: python)",
              &made.from},
             {"--snapshot", "ID",
              "create: name a snapshot, so that sandboxes can be created from it", &made.snapshot},
             {"--image", "NAME",
              "create: make it of an image, whose own Python waits for code if it has 3.8 or newer",
              &made.image},
             {"--pull", "WHEN",
              "create: pull the image from its registry when it is missing (default), always or "
              "never",
              &made.pull},
             {"--description", "TEXT", "create: one line of description", &made.description},
             {"--env", "NAME=VALUE", "create: set an environment variable (repeatable)", &made.env},
             {"--timeout", "TIME", "create: default time limit of a run", &made.timeout},
             {"--memory", "SIZE", "create: default memory limit, like 512M", &made.limits.memory},
             {"--disk", "SIZE", "create: default disk limit", &made.limits.disk},
             {"--pids", "N", "create: default limit of processes and threads", &made.limits.pids},
             {"--cpus", "N", "create: default share of CPUs, like 0.5", &made.limits.cpus},
             {"--pool", "N", "create: sandboxes for runs that wait, like 2, or 2-8 with demand",
              &made.pool},
             {"--session-pool", "N", "create: the same for persistent sandboxes",
              &made.session_pool},
             {"--json", "", "print JSON", &shown.json}}},
           options::package_options("Packages of create", made.packages),
           server_location_options(shown.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused or the file is invalid, 2 bad usage,\n"
          "125 no server responds.\n",
      .subcommands = {{"list", "", 0, 0, "list the templates and their states", "ls"},
                      {"show", "NAME", 1, 1, "show one"},
                      {"create", "NAME", 1, 1,
                       "create one with --from BASE, --image NAME, --snapshot ID or packages"},
                      {"delete", "NAME", 1, 1, "delete one", "rm"},
                      {"check", "FILE", 1, 1, "validate a template file; needs no server"}}};
}

std::string first_line_of(const std::string& text) { return text.substr(0, text.find('\n')); }

// The last line of a traceback, which names the exception.
std::string last_line_of(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

// "2-8"; "-" if the server does not say.
std::string pool_text(const json::object& one, std::string_view pool) {
  if (!one.contains(pool)) return "-";
  return field_text(one, pool, "min") + "-" + field_text(one, pool, "max");
}

int print_templates(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  const auto templates = array_field(*object, "templates");
  if (!templates) return failure(templates.error());
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "LANGUAGE", "RUNTIME", "POOL", "SESSION POOL", "STATE", "DESCRIPTION"}};
  for (const json::value& value : *templates) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const std::string error = field_text(one, "error");
    rows.push_back(
        {field_text(one, "name"), field_text(one, "language"), field_text(one, "runtime"),
         pool_text(one, "pool"), pool_text(one, "session_pool"), field_text(one, "state"),
         error == "-" ? first_line_of(field_text(one, "description")) : last_line_of(error)});
  }
  print(table(rows));
  return 0;
}

int print_template(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  std::vector<std::vector<std::string>> rows;
  for (const char* name :
       {"name", "description", "built_in", "project", "from", "runtime", "language", "preload",
        "layers", "dependencies", "snapshot", "image", "state", "generation", "zygotes", "forks"}) {
    rows.push_back({name, field_text(*object, name)});
  }
  for (const char* name : {"pool", "session_pool"}) {
    rows.push_back({name, pool_text(*object, name)});
  }
  for (const char* name :
       {"timeout_ms", "cpu_ms", "memory_mb", "disk_mb", "pids", "cpu_thousandths"}) {
    rows.push_back({std::string("profile.") + name, field_text(*object, "profile", name)});
  }
  print(table(rows));
  const std::string error = field_text(*object, "error");
  if (error == "-") return 0;
  print("\n");
  std::size_t begin = 0;
  while (begin < error.size()) {
    const std::size_t end = std::min(error.find('\n', begin), error.size());
    print(printable(error.substr(begin, end - begin)) + "\n");
    begin = end + 1;
  }
  return 0;
}

int create_template(TemplateOptions& shown, const std::string& name) {
  if (!shown.made.snapshot.empty()) {
    const auto status = resolve_or_report(shown.server, resolve_snapshot, shown.made.snapshot);
    if (status) return *status;
  }
  const auto body = new_template_json(name, shown.made);
  if (!body) return usage_error(body.error().message());
  const NamedImage image{.name = shown.made.image, .pull = shown.made.pull};
  if (const auto status = provide_or_report(shown.server, image, shown.json)) return *status;
  const bool has_packages = shown.made.packages.names_packages();
  if (has_packages && !shown.json) {
    wire::PackageOptions packages = shown.made.packages;
    packages.preload.clear();  // of the template itself
    if (const auto status = install_packages(shown.server, packages, shown.made.from)) {
      return *status;
    }
  }
  // The server responds when the packages are installed, or the image's interpreter was tried,
  // which may take minutes.
  const bool takes_long = has_packages || !shown.made.image.empty();
  const CommandResponse response =
      send_and_report(shown.server, post_request("/v1/templates", *body),
                      takes_long ? kNoTimeout : kCommandTimeout);
  if (response.status != 0) return response.status;
  print(shown.json ? response.body : printable(name) + "\n");
  return 0;
}

int delete_template(const TemplateOptions& shown, const std::string& name) {
  const CommandResponse response =
      send_and_report(shown.server, delete_request("/v1/templates/" + percent_encode(name)));
  if (response.status != 0) return response.status;
  print(shown.json ? json::serialize(json::object{{"name", name}, {"deleted", true}}) + "\n"
                   : "deleted " + printable(name) + "\n");
  return 0;
}

}  // namespace

int template_command(const std::vector<std::string>& args) {
  TemplateOptions shown;
  options::Arguments arguments;
  if (const auto status = parse_arguments(template_command_line(shown), args, arguments)) {
    return *status;
  }
  const std::string& verb = arguments.subcommand;
  if (shown.made.is_given() && verb != "create") {
    return usage_error("options that describe a template are only for `glovebox template create`");
  }
  if (verb == "create") return create_template(shown, arguments.operands[0]);
  if (verb == "delete") return delete_template(shown, arguments.operands[0]);
  if (verb == "check") return usage_error("`glovebox template check` is a command of `glovebox`");
  const bool is_list = verb == "list";
  const CommandResponse response = send_and_report(
      shown.server,
      get_request("/v1/templates" + (is_list ? "" : "/" + percent_encode(arguments.operands[0]))));
  if (response.status != 0) return response.status;
  if (shown.json) {
    print(response.body);
    return 0;
  }
  return is_list ? print_templates(response.body) : print_template(response.body);
}

}  // namespace glovebox::client
