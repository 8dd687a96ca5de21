// `glovebox key create|show|list|revoke`: the keys of a server.
#include <boost/json.hpp>
#include <cstdio>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/key_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

struct KeyOptions {
  ServerLocationOptions server;
  NewKeyOptions new_key;
  bool e2b = false;
  bool json = false;
};

options::CommandLine key_command_line(KeyOptions& key) {
  NewKeyOptions& made = key.new_key;
  return {
      .name = "glovebox key",
      .description =
          "Create, list and revoke the keys of a server. Only `create` shows a key's secret; "
          "`show` prints the admin key in the data directory of `glovebox serve`.",
      .groups = {{"Options",
                  {{"--e2b", "",
                    "create, show: print the key with the prefix that E2B clients require",
                    &key.e2b},
                   {"--project", "PROJECT",
                    "create: project of the key (default: default); list: show only this project",
                    &made.project},
                   {"--name", "NAME", "create: describe what the key is for", &made.name},
                   {"--admin", "", "create: allow the key to manage keys and run maintenance",
                    &made.admin},
                   {"--max-in-flight", "N",
                    "create: limit of concurrent requests (default 0: none of its own)",
                    &made.max_in_flight},
                   {"--runs-per-minute", "N",
                    "create: limit of runs per minute (default 0: none of its own)",
                    &made.runs_per_minute},
                   {"--max-memory", "SIZE",
                    "create: limit of memory and disk of its concurrent runs, like 4G (default: "
                    "none of its own)",
                    &made.max_memory},
                   {"--json", "", "print the server's response", &key.json}}},
                 server_location_options(key.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n",
      .subcommands = {{"create", "", 0, 0, "create a key and print its secret, once"},
                      {"show", "", 0, 0, "print the admin key of the data directory"},
                      {"list", "", 0, 0, "list the keys, without their secrets", "ls"},
                      {"revoke", "ID", 1, 1,
                       "revoke a key: by its id, the beginning of it, or its name", "rm"}}};
}

int create_key(const KeyOptions& key) {
  const auto body = new_key_json(key.new_key);
  if (!body) return usage_error(body.error().message());
  const CommandResponse response = send_and_report(key.server, post_request("/v1/keys", *body));
  if (response.status != 0) return response.status;
  if (key.json && !key.e2b) {
    print(response.body);
    return 0;
  }
  auto created = parse_response(response.body);
  if (!created) return failure(created.error());
  if (key.e2b) (*created)["key"] = e2b_form(field_text(*created, "key"));
  if (key.json) {
    print(json::serialize(*created) + "\n");
    return 0;
  }
  // Only the secret goes to standard output, for KEY=$(glovebox key create).
  std::fprintf(stderr, "key %s of project %s (%s); the secret is not shown again:\n",
               printable(field_text(*created, "id")).c_str(),
               printable(field_text(*created, "project")).c_str(),
               printable(field_text(*created, "role")).c_str());
  print(printable(field_text(*created, "key")) + "\n");
  return 0;
}

// Needs no server, only the right to read the file.
int show_admin_key(const KeyOptions& key) {
  const auto secret = find_admin_key(key.server, ServerLocationEnvironment::here());
  if (!secret) return failure(secret.error());
  const std::string text = printable(key.e2b ? e2b_form(*secret) : *secret);
  print(key.json ? json::serialize(json::object{{"key", text}}) + "\n" : text + "\n");
  return 0;
}

std::string key_limit_text(const json::object& key, std::string_view name) {
  const std::string text = field_text(key, "limits", name);
  return text == "0" ? "-" : text;
}

int list_keys(const KeyOptions& key) {
  std::string target = "/v1/keys";
  if (!key.new_key.project.empty()) target += "?project=" + percent_encode(key.new_key.project);
  const CommandResponse response = send_and_report(key.server, get_request(std::move(target)));
  if (response.status != 0) return response.status;
  if (key.json) {
    print(response.body);
    return 0;
  }
  const auto object = parse_response(response.body);
  if (!object) return failure(object.error());
  const auto keys = array_field(*object, "keys");
  if (!keys) return failure(keys.error());
  std::vector<std::vector<std::string>> rows = {{"ID", "PROJECT", "NAME", "ROLE", "IN FLIGHT",
                                                 "PER MINUTE", "MEMORY MB", "CREATED", "LAST USED",
                                                 "REVOKED"}};
  for (const json::value& value : *keys) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    rows.push_back({field_text(one, "id"), field_text(one, "project"), field_text(one, "name"),
                    field_text(one, "role"), key_limit_text(one, "max_in_flight"),
                    key_limit_text(one, "runs_per_minute"), key_limit_text(one, "max_memory_mb"),
                    field_text(one, "created_at"), field_text(one, "last_used_at"),
                    field_text(one, "revoked_at")});
  }
  print(table(rows));
  return 0;
}

int revoke_key(const KeyOptions& key, std::string id) {
  if (const auto status = resolve_or_report(key.server, resolve_key, id)) return *status;
  const CommandResponse response =
      send_and_report(key.server, delete_request("/v1/keys/" + percent_encode(id)));
  if (response.status != 0) return response.status;
  print(key.json ? json::serialize(json::object{{"id", id}, {"revoked", true}}) + "\n"
                 : "revoked " + printable(id) + "\n");
  return 0;
}

}  // namespace

int key_command(const std::vector<std::string>& args) {
  KeyOptions key;
  options::Arguments arguments;
  if (const auto status = parse_arguments(key_command_line(key), args, arguments)) return *status;
  const std::string& verb = arguments.subcommand;
  const NewKeyOptions& made = key.new_key;
  const bool describes_new_key = !made.name.empty() || made.admin || !made.max_in_flight.empty() ||
                                 !made.runs_per_minute.empty() || !made.max_memory.empty();
  if (describes_new_key && verb != "create") {
    return usage_error("--name, --admin and the limits are only for `glovebox key create`");
  }
  if (key.e2b && verb != "create" && verb != "show") {
    return usage_error("--e2b is only for `glovebox key create` and `glovebox key show`");
  }
  if (!made.project.empty() && verb == "show") {
    return usage_error("--project is only for `glovebox key create` and `glovebox key list`");
  }
  if (verb == "create") return create_key(key);
  if (verb == "show") return show_admin_key(key);
  if (verb == "list") return list_keys(key);
  return revoke_key(key, arguments.operands[0]);
}

}  // namespace glovebox::client
