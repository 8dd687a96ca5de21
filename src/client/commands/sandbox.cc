// `glovebox sandbox ...`: create, list, show, pause, resume, snapshot and end persistent sandboxes.
#include <boost/json.hpp>
#include <cstdio>
#include <optional>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/references.h"
#include "client/output/image_pull.h"
#include "client/output/layer_build.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/sandbox_options.h"
#include "options/package_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kManyIds = 100'000;

struct SandboxOptions {
  ServerLocationOptions server;
  NewSandboxOptions made;
  std::string state;
  std::string name;
  bool all = false;
  bool quiet = false;
  bool json = false;
};

options::CommandLine sandbox_command_line(SandboxOptions& sandbox) {
  NewSandboxOptions& made = sandbox.made;
  return {
      .name = "glovebox sandbox",
      .description =
          "Manage persistent sandboxes. ID is a sandbox's id, the beginning of it (at least four "
          "letters), or its name; SNAPSHOT likewise. See also `glovebox exec`, `shell`, `cp`, "
          "`code`, `logs` and `top`.",
      .groups =
          {{"Options",
            {{"--template", "NAME",
              "create: template to use (default: base; with packages: python); list: only of this "
              "template",
              &made.template_name},
             {"--snapshot", "ID", "create: start with the files of a snapshot", &made.snapshot},
             {"--image", "NAME", "create: make it of an image, one of `glovebox image list`",
              &made.image},
             {"--pull", "WHEN",
              "create: pull the image from its registry when it is missing (default), always or "
              "never",
              &made.pull},
             {"--ttl", "TIME", "create, keepalive: time to live from now, like 10m", &made.ttl},
             {"--on-timeout", "ACTION",
              "create: kill (default) or pause the sandbox when its time to live ends",
              &made.on_timeout},
             {"--agent-id", "ID",
              "create: use the running sandbox of this agent id, if there is one", &made.agent_id},
             {"--env", "NAME=VALUE",
              "create: set an environment variable for all programs (repeatable)", &made.env},
             {"--metadata", "KEY=VALUE",
              "create: attach metadata; list: only with this metadata (repeatable)",
              &made.metadata},
             {"--memory", "SIZE", "create: memory limit, like 512M", &made.limits.memory},
             {"--disk", "SIZE", "create: disk limit, like 1G", &made.limits.disk},
             {"--cpus", "N", "create: share of CPUs, like 0.5", &made.limits.cpus},
             {"--pids", "N", "create: limit of processes and threads", &made.limits.pids},
             {"--mount", "NAME:PATH[:rw]",
              "create: mount an entry of the administrator's list (repeatable)", &made.mounts},
             {"--min-grade", "GRADE", "create: refuse weaker isolation than this grade",
              &made.min_grade},
             {"--private-ports", "", "create: require a token for its ports; it is shown once",
              &made.private_ports},
             {"--state", "STATE",
              "list: pending, starting, running, paused, stopped, error; several separated by "
              "commas (default: all that have not ended)",
              &sandbox.state},
             {"--all", "", "list: include sandboxes that have ended; kill: all that have not ended",
              &sandbox.all},
             {"--name", "NAME",
              "create: a name for it, unique among the live sandboxes of your project; snapshot: "
              "name of the snapshot",
              &sandbox.name},
             {"-q,--quiet", "", "list: print only the ids", &sandbox.quiet},
             {"--json", "", "print the server's response", &sandbox.json}}},
           network_options("Network of create", made.network),
           options::package_options("Packages of create", made.packages),
           server_location_options(sandbox.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n",
      .subcommands = {{"create", "", 0, 0, "create one and print its id"},
                      {"list", "", 0, 0, "list those that have not ended", "ls,ps"},
                      {"show", "ID", 1, 1, "show one"},
                      {"pause", "ID", 1, 1, "freeze all its programs"},
                      {"resume", "ID", 1, 1, "continue a paused one"},
                      {"keepalive", "ID", 1, 1, "restart its time to live"},
                      {"kill", "ID...", 0, kManyIds, "end sandboxes; with --all, every one", "rm"},
                      {"snapshot", "ID", 1, 1, "keep its files and print the snapshot's id"},
                      {"snapshots", "", 0, 0, "list the snapshots"},
                      {"forget", "SNAPSHOT", 1, 1, "remove a snapshot"}}};
}

std::string sandbox_target(const std::string& id, const char* rest = "") {
  return "/v1/sandboxes/" + percent_encode(id) + rest;
}

int create_sandbox(SandboxOptions& sandbox) {
  sandbox.made.name = sandbox.name;
  if (!sandbox.made.snapshot.empty()) {
    const auto status = resolve_or_report(sandbox.server, resolve_snapshot, sandbox.made.snapshot);
    if (status) return *status;
  }
  auto body = new_sandbox_json(sandbox.made);
  if (!body) return usage_error(body.error().message());
  const NamedImage image{.name = sandbox.made.image, .pull = sandbox.made.pull};
  if (const auto status = provide_or_report(sandbox.server, image, sandbox.json)) return *status;
  const NewSandboxOptions& made = sandbox.made;
  // A snapshot's template is not known here; the sandbox of an agent may be there already.
  if (made.packages.is_given() && !sandbox.json && made.snapshot.empty() && made.agent_id.empty()) {
    const auto status = install_packages(sandbox.server, made.packages, made.template_name);
    if (status) return *status;
  }
  // The server responds when the packages are installed, which may take minutes.
  const CommandResponse response =
      send_and_report(sandbox.server, post_request("/v1/sandboxes", std::move(*body)),
                      sandbox.made.packages.is_given() ? kNoTimeout : kCommandTimeout);
  if (response.status != 0) return response.status;
  if (sandbox.json) {
    print(response.body);
    return 0;
  }
  const auto created = parse_response(response.body);
  if (!created) return failure(created.error());
  // Only the id goes to standard output, for ID=$(glovebox sandbox create).
  std::fprintf(stderr, "template %s, %s, until %s\n",
               printable(field_text(*created, "template")).c_str(),
               printable(field_text(*created, "isolation", "grade")).c_str(),
               printable(field_text(*created, "expires_at")).c_str());
  if (const std::string token = field_text(*created, "port_token"); token != "-") {
    std::fprintf(stderr, "port token (not shown again): %s\n", printable(token).c_str());
  }
  print(printable(field_text(*created, "id")) + "\n");
  return 0;
}

Result<std::string> sandbox_list_target(const SandboxOptions& sandbox) {
  std::string target = "/v1/sandboxes?limit=100";
  if (!sandbox.state.empty()) {
    target += "&state=" + percent_encode(sandbox.state);
  } else if (!sandbox.all) {
    target += "&state=pending,starting,running,paused";
  }
  if (!sandbox.made.template_name.empty()) {
    target += "&template=" + percent_encode(sandbox.made.template_name);
  }
  if (!sandbox.made.agent_id.empty())
    target += "&agent_id=" + percent_encode(sandbox.made.agent_id);
  for (const std::string& word : sandbox.made.metadata) {
    TRY(const options::NamedValue pair, options::parse_named_value(word, "--metadata"));
    target += "&metadata." + percent_encode(pair.name) + "=" + percent_encode(pair.value);
  }
  return target;
}

// Reads all pages. After a failure was printed: the exit status.
std::optional<int> read_sandboxes(const SandboxOptions& sandbox, json::array& all) {
  const auto target = sandbox_list_target(sandbox);
  if (!target) return usage_error(target.error().message());
  std::string cursor;
  do {
    const CommandResponse response = send_and_report(
        sandbox.server,
        get_request(*target + (cursor.empty() ? "" : "&cursor=" + percent_encode(cursor))));
    if (response.status != 0) return response.status;
    const auto object = parse_response(response.body);
    if (!object) return failure(object.error());
    const auto sandboxes = array_field(*object, "sandboxes");
    if (!sandboxes) return failure(sandboxes.error());
    for (const json::value& value : *sandboxes) {
      if (value.is_object()) all.push_back(value);
    }
    const std::string next = field_text(*object, "next_cursor");
    cursor = next == "-" || next == cursor ? "" : next;
  } while (!cursor.empty());
  return std::nullopt;
}

int list_sandboxes(const SandboxOptions& sandbox) {
  json::array all;
  if (const auto status = read_sandboxes(sandbox, all)) return *status;
  if (sandbox.json) {
    print(json::serialize(json::object{{"sandboxes", std::move(all)}}) + "\n");
    return 0;
  }
  std::vector<std::vector<std::string>> rows;
  if (!sandbox.quiet) {
    rows.push_back({"ID", "NAME", "STATE", "TEMPLATE", "CREATED", "EXPIRES", "METADATA"});
  }
  for (const json::value& value : all) {
    const json::object& one = value.get_object();
    rows.push_back({field_text(one, "id")});
    if (sandbox.quiet) continue;
    for (const char* name : {"name", "state", "template", "created_at", "expires_at", "metadata"}) {
      rows.back().push_back(field_text(one, name));
    }
  }
  print(table(rows));
  return 0;
}

int print_sandbox(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  std::vector<std::vector<std::string>> rows;
  for (const char* name : {"id", "name", "state", "reason", "template", "snapshot", "agent_id",
                           "metadata", "limits", "on_timeout", "ttl_s", "created_at", "expires_at",
                           "ended_at", "profile", "net", "dependencies"}) {
    rows.push_back({name, field_text(*object, name)});
  }
  for (const char* name : {"grade", "walls", "missing"}) {
    const std::string text = field_text(*object, "isolation", name);
    if (text != "-") rows.push_back({name, text});
  }
  print(table(rows));
  return 0;
}

// Sends a request whose response is a sandbox, and prints that.
int request_sandbox(const SandboxOptions& sandbox, http::ClientRequest request) {
  const CommandResponse response = send_and_report(sandbox.server, std::move(request));
  if (response.status != 0) return response.status;
  if (sandbox.json) {
    print(response.body);
    return 0;
  }
  return print_sandbox(response.body);
}

// The living sandboxes of the project, for kill --all. Already ended ones are none.
std::optional<int> living_sandboxes(const SandboxOptions& sandbox, std::vector<std::string>& ids) {
  SandboxOptions living{.server = sandbox.server, .made = {}, .state = {}, .name = {}};
  json::array all;
  if (const auto status = read_sandboxes(living, all)) return status;
  for (const json::value& value : all) ids.push_back(field_text(value.get_object(), "id"));
  return std::nullopt;
}

int kill_sandboxes(const SandboxOptions& sandbox, std::vector<std::string> ids) {
  if (sandbox.all != ids.empty()) {
    return usage_error("use either ID... or --all (see `glovebox sandbox --help`)");
  }
  if (sandbox.all) {
    if (const auto failed = living_sandboxes(sandbox, ids)) return *failed;
  }
  int status = 0;
  for (std::string& id : ids) {
    if (const auto unknown = resolve_or_report(sandbox.server, resolve_sandbox, id)) {
      status = *unknown;
      continue;
    }
    const CommandResponse response =
        send_and_report(sandbox.server, delete_request(sandbox_target(id)));
    if (response.status != 0) {
      status = response.status;
      continue;
    }
    print(sandbox.json ? json::serialize(json::object{{"id", id}, {"killed", true}}) + "\n"
                       : "killed " + printable(id) + "\n");
  }
  return status;
}

int create_snapshot(const SandboxOptions& sandbox, const std::string& id) {
  json::object body;
  if (!sandbox.name.empty()) body["name"] = sandbox.name;
  const CommandResponse response = send_and_report(
      sandbox.server, post_request(sandbox_target(id, "/snapshots"), json::serialize(body)));
  if (response.status != 0) return response.status;
  if (sandbox.json) {
    print(response.body);
    return 0;
  }
  const auto snapshot = parse_response(response.body);
  if (!snapshot) return failure(snapshot.error());
  std::fprintf(stderr, "%s files, %s bytes; memory is not kept\n",
               printable(field_text(*snapshot, "files")).c_str(),
               printable(field_text(*snapshot, "bytes")).c_str());
  print(printable(field_text(*snapshot, "id")) + "\n");
  return 0;
}

int list_snapshots(const SandboxOptions& sandbox) {
  const CommandResponse response = send_and_report(sandbox.server, get_request("/v1/snapshots"));
  if (response.status != 0) return response.status;
  if (sandbox.json) {
    print(response.body);
    return 0;
  }
  const auto object = parse_response(response.body);
  if (!object) return failure(object.error());
  const auto snapshots = array_field(*object, "snapshots");
  if (!snapshots) return failure(snapshots.error());
  std::vector<std::vector<std::string>> rows = {
      {"ID", "NAME", "TEMPLATE", "FILES", "BYTES", "CREATED", "OF SANDBOX"}};
  for (const json::value& value : *snapshots) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    rows.push_back({field_text(one, "id"), field_text(one, "name"), field_text(one, "template"),
                    field_text(one, "files"), field_text(one, "bytes"),
                    field_text(one, "created_at"), field_text(one, "sandbox")});
  }
  print(table(rows));
  return 0;
}

int delete_snapshot(const SandboxOptions& sandbox, const std::string& id) {
  const CommandResponse response =
      send_and_report(sandbox.server, delete_request("/v1/snapshots/" + percent_encode(id)));
  if (response.status != 0) return response.status;
  print(sandbox.json ? json::serialize(json::object{{"id", id}, {"removed", true}}) + "\n"
                     : "removed " + printable(id) + "\n");
  return 0;
}

int keep_sandbox_alive(const SandboxOptions& sandbox, const std::string& id) {
  json::object body;
  if (!sandbox.made.ttl.empty()) {
    auto seconds = parse_seconds(sandbox.made.ttl, "--ttl");
    if (!seconds) return usage_error(seconds.error().message());
    body["ttl_s"] = *seconds;
  }
  return request_sandbox(sandbox,
                         post_request(sandbox_target(id, "/keepalive"), json::serialize(body)));
}

}  // namespace

int sandbox_command(const std::vector<std::string>& args) {
  SandboxOptions sandbox;
  options::Arguments arguments;
  if (const auto status = parse_arguments(sandbox_command_line(sandbox), args, arguments)) {
    return *status;
  }
  const std::string& verb = arguments.subcommand;
  if (verb == "create") return create_sandbox(sandbox);
  if (verb == "list") return list_sandboxes(sandbox);
  if (verb == "snapshots") return list_snapshots(sandbox);
  if (verb == "kill") return kill_sandboxes(sandbox, std::move(arguments.operands));
  std::string& id = arguments.operands[0];
  const Resolve resolve = verb == "forget" ? resolve_snapshot : resolve_sandbox;
  if (const auto status = resolve_or_report(sandbox.server, resolve, id)) return *status;
  if (verb == "show") return request_sandbox(sandbox, get_request(sandbox_target(id)));
  if (verb == "pause" || verb == "resume") {
    return request_sandbox(sandbox, post_request(sandbox_target(id) + "/" + verb, "{}"));
  }
  if (verb == "keepalive") return keep_sandbox_alive(sandbox, id);
  if (verb == "snapshot") return create_snapshot(sandbox, id);
  return delete_snapshot(sandbox, id);
}

}  // namespace glovebox::client
