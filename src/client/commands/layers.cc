// `glovebox layers list|show|build|check|prune|remove`: the installed package sets of a server.
#include <time.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/private_server.h"
#include "client/output/layer_build.h"
#include "client/output/layer_text.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/layer_options.h"
#include "options/package_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kShortId = 12;
constexpr std::size_t kPackagesInLine = 3;

struct LayersOptions {
  ServerLocationOptions server;
  LayerOptions layer;
  bool json = false;
};

options::CommandLine layers_command_line(LayersOptions& layers) {
  LayerOptions& layer = layers.layer;
  return {
      .name = "glovebox layers",
      .description =
          "Manage the package sets that were installed for runs and sandboxes (`glovebox run "
          "--with`). Each is stored as one layer. `build` installs one in advance, `check` "
          "compares the files of one with its digest, `prune` and `remove` delete layers that "
          "are not in use. ID is a layer's id or at least its first eight characters. `check`, "
          "`prune` and `remove` need an admin key and apply to the layers of all projects.\n"
          "If no server is known, the command starts a private one, as `glovebox run --with` "
          "does, and works on the layers of such runs.",
      .groups = {{"Options",
                  {{"--template", "NAME",
                    "build: template of the runs that will use them (default python; node with a "
                    "package-lock.json)",
                    &layer.template_name},
                   {"--unused-for", "TIME",
                    "prune: only layers that were not used for this long, like 7d or 12h",
                    &layer.unused_for},
                   {"--dry-run", "", "prune: only print which layers would be removed",
                    &layer.dry_run},
                   {"--project", "NAME",
                    "list, build: use another project than the key's own (admin keys only)",
                    &layer.project},
                   {"--json", "", "print JSON", &layers.json}}},
                 options::package_options("Packages of build", layer.packages),
                 server_location_options(layers.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, the installation failed or a layer has\n"
          "changed, 2 bad usage, 125 no server responds.\n",
      .subcommands = {{"list", "", 0, 0, "list them, the most recently used first", "ls"},
                      {"show", "ID", 1, 1, "show one"},
                      {"build", "", 0, 0, "install one in advance: --with PACKAGE"},
                      {"check", "ID", 1, 1, "compare one with its digest"},
                      {"prune", "", 0, 0, "remove those that are not in use"},
                      {"remove", "ID", 1, 1, "remove one", "rm"}}};
}

std::string layers_target(const std::string& path, const LayerOptions& layer) {
  return "/v1/layers" + path +
         (layer.project.empty() ? "" : "?project=" + percent_encode(layer.project));
}

int print_layers(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  const auto layers = array_field(*object, "layers");
  if (!layers) return failure(layers.error());
  const std::int64_t now = ::time(nullptr);
  std::vector<std::vector<std::string>> rows = {
      {"ID", "MANAGER", "SIZE", "AGE", "USED", "IN USE", "PACKAGES"}};
  std::uint64_t bytes = 0;
  for (const json::value& value : *layers) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    bytes += number_field(one, "bytes");
    rows.push_back(
        {field_text(one, "id").substr(0, kShortId), field_text(one, "manager"),
         size_text(number_field(one, "bytes")), age_text(field_text(one, "made_at"), now),
         age_text(field_text(one, "used_at"), now),
         field_text(one, "in_use") == "true" ? "yes" : "no", packages_text(one, kPackagesInLine)});
  }
  print(table(rows));
  if (rows.size() > 2) {
    print(std::to_string(rows.size() - 1) + " layers, " + size_text(bytes) + "\n");
  }
  return 0;
}

int print_layer(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  const json::object& one = *object;
  std::vector<std::vector<std::string>> rows;
  for (const char* name : {"id", "manager", "interpreter", "index"}) {
    rows.push_back({name, field_text(one, name)});
  }
  rows.push_back({"size", size_text(number_field(one, "bytes"))});
  for (const char* name : {"bytes", "entries", "digest", "made_at", "used_at", "checked_at",
                           "in_use", "projects", "asked"}) {
    rows.push_back({name, field_text(one, name)});
  }
  print(table(rows));
  const auto packages = array_field(one, "packages");
  if (!packages || packages->empty()) return 0;
  std::vector<std::vector<std::string>> all = {{"PACKAGE", "VERSION", "FILE", "HASH"}};
  for (const json::value& value : *packages) {
    if (!value.is_object()) continue;
    const json::object& package = value.get_object();
    all.push_back({field_text(package, "name"), field_text(package, "version"),
                   field_text(package, "file"), field_text(package, "hash")});
  }
  print("\n" + table(all));
  return 0;
}

// Shows the progress while the server works, then prints the layer.
int build_and_print_layer(const LayersOptions& layers, const std::string& body) {
  auto api = ApiClient::connect(layers.server);
  if (!api) return usage_error_or_failure(api.error());
  const bool shows_progress = !layers.json || ::isatty(STDERR_FILENO) == 1;
  const auto build = build_layer(*api, layers_target("", layers.layer), body,
                                 shows_progress ? ShowProgress::kYes : ShowProgress::kNo);
  if (!build) return failure(build.error());
  if (build->refused) return server_refused(build->refused->message);
  const json::object& layer = *build->layer;
  if (layers.json) {
    print(json::serialize(layer) + "\n");
    return 0;
  }
  print(printable(field_text(layer, "id")) + "\n");
  const std::string reason = field_text(layer, "cold_because");
  if (reason != "-") {
    std::fprintf(stderr, "glovebox: runs with these packages start cold: %s\n",
                 printable_lines(reason).c_str());
  }
  return 0;
}

int check_layer(const LayersOptions& layers, const std::string& id) {
  const CommandResponse response = send_and_report(
      layers.server, post_request("/v1/layers/" + percent_encode(id) + "/check"), kNoTimeout);
  if (response.status != 0) return response.status;
  const auto object = parse_response(response.body);
  if (!object) return failure(object.error());
  const bool is_intact = field_text(*object, "intact") == "true";
  if (layers.json) {
    print(response.body);
  } else if (is_intact) {
    print("intact\n");
  } else {
    print("changed: expected digest " + printable(field_text(*object, "expected")) + ", found " +
          printable(field_text(*object, "found")) + "\n");
  }
  return is_intact ? 0 : 1;
}

int prune_layers(const LayersOptions& layers, const std::string& body) {
  const CommandResponse response =
      send_and_report(layers.server, post_request("/v1/layers/prune", body), kNoTimeout);
  if (response.status != 0) return response.status;
  const Result<std::string> text =
      layers.json ? Result<std::string>(response.body) : pruned_text(response.body, "layers");
  if (!text) return failure(text.error());
  print(*text);
  return 0;
}

int remove_layer(const LayersOptions& layers, const std::string& id) {
  const CommandResponse response =
      send_and_report(layers.server, delete_request("/v1/layers/" + percent_encode(id)));
  if (response.status != 0) return response.status;
  print(layers.json ? json::serialize(json::object{{"id", id}, {"removed", true}}) + "\n"
                    : printable(id) + "\n");
  return 0;
}

// One layer, or all of them if `id` is empty.
int show_layers(const LayersOptions& layers, const std::string& id) {
  const CommandResponse response = send_and_report(
      layers.server,
      get_request(layers_target(id.empty() ? "" : "/" + percent_encode(id), layers.layer)));
  if (response.status != 0) return response.status;
  if (layers.json) {
    print(response.body);
    return 0;
  }
  return id.empty() ? print_layers(response.body) : print_layer(response.body);
}

}  // namespace

int layers_command(const std::vector<std::string>& args) {
  LayersOptions layers;
  options::Arguments arguments;
  if (const auto status = parse_arguments(layers_command_line(layers), args, arguments)) {
    return *status;
  }
  const std::string& verb = arguments.subcommand;
  const std::string id = arguments.operands.empty() ? "" : arguments.operands[0];
  const LayerOptions& layer = layers.layer;
  if (verb != "build" && (layer.packages.is_given() || !layer.template_name.empty())) {
    return usage_error(
        "--with, --requirements, --lock, --preload, --host-packages and --template are only for "
        "`glovebox layers build`");
  }
  if (verb != "prune" && (layer.dry_run || !layer.unused_for.empty())) {
    return usage_error("--unused-for and --dry-run are only for `glovebox layers prune`");
  }
  // Mistakes are reported before a server is started.
  const Result<std::string> body = verb == "build"   ? new_layer_json(layer)
                                   : verb == "prune" ? prune_json(layer)
                                                     : std::string();
  if (!body) return usage_error_or_failure(body.error());
  const auto private_server = start_server_if_none(layers.server);
  if (!private_server) return failure(private_server.error());
  if (verb == "build") return build_and_print_layer(layers, *body);
  if (verb == "prune") return prune_layers(layers, *body);
  if (verb == "remove") return remove_layer(layers, id);
  if (verb == "check") return check_layer(layers, id);
  return show_layers(layers, id);
}

}  // namespace glovebox::client
