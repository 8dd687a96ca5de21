// `glovebox sandbox …`: sessions made, listed, looked at, paused, resumed, copied and ended.
#include <boost/json.hpp>
#include <cstdio>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"
#include "client/session/sandbox_words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kSandboxUsage =
    "usage: glovebox sandbox create [OPTIONS]\n"
    "       glovebox sandbox list [--state STATE] [--metadata KEY=VALUE] [--template NAME]\n"
    "       glovebox sandbox show|pause|resume ID\n"
    "       glovebox sandbox keepalive ID [--ttl TIME]\n"
    "       glovebox sandbox kill ID...\n"
    "       glovebox sandbox snapshot ID [--name NAME]\n"
    "       glovebox sandbox snapshots\n"
    "       glovebox sandbox forget SNAPSHOT\n"
    "\n"
    "Sandboxes that live: see also `glovebox exec`, `shell`, `cp`, `code`, `logs` and `top`.\n"
    "\n"
    "  --template NAME        create: what it is made of (default: base; with packages\n"
    "                         python); list: of that one only\n"
    "  --snapshot ID          create: with the files that a snapshot has kept\n"
    "  --ttl TIME             create, keepalive: how long it lives from now on, like 10m\n"
    "  --on-timeout WHAT      create: kill (the default) or pause it at the end of its time\n"
    "  --agent-id ID          create: the living sandbox of this id, if there is one\n"
    "  --env NAME=VALUE       create: a variable of all its programs; again for more\n"
    "  --metadata KEY=VALUE   create: a note of yours; list: with that note only; again for more\n"
    "  --memory SIZE          create: memory, like 512M\n"
    "  --disk SIZE            create: what it may write to its disk, like 1G\n"
    "  --cpus N               create: CPUs, like 0.5\n"
    "  --pids N               create: processes at once\n"
    "  --mount NAME:PATH[:rw] create: an entry of the administrator's list; again for more\n"
    "  --min-grade GRADE      create: the weakest wall that will do\n"
    "  --net POLICY           create: what it may reach, as for `glovebox run`: none, https-only, "
    "all,\n"
    "                         or rules like pypi.org:443; again for more\n"
    "  --net-deny RULE        create: and what of it may not; again for more\n"
    "  --private-ports        create: its ports need a token, which is shown once\n"
    "  --with PACKAGE         create: a package to install before, like 'pandas>=2'; again for "
    "more\n"
    "  --requirements FILE    create: packages of a requirements.txt\n"
    "  --lock FILE            create: packages of a pylock.toml or package-lock.json\n"
    "  --preload MODULES      create: modules of them to import ahead, like numpy,pandas\n"
    "  --state STATE          list: pending, starting, running, paused, stopped, error; several\n"
    "                         with commas (default: those that live)\n"
    "  --all                  list: ended ones too\n"
    "  --name NAME            snapshot: what it is called\n";
constexpr const char* kSandboxHelp =
    "  --json                 print the server's answer\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server answers.\n";

struct SandboxWords {
  PlaceWords place;
  NewSandboxWords fresh;
  std::string state;
  std::string name;
  bool all = false;
  bool json = false;
  bool help = false;
};

std::string sandbox_path(const std::string& id, const char* rest = "") {
  return "/v1/sandboxes/" + url_encoded(id) + rest;
}

Asked post(const SandboxWords& words, std::string target, std::string body = "{}") {
  return ask(words.place, {.method = http::Method::kPost,
                           .target = std::move(target),
                           .headers = {},
                           .body = std::move(body)});
}
Asked get(const SandboxWords& words, std::string target) {
  return ask(
      words.place,
      {.method = http::Method::kGet, .target = std::move(target), .headers = {}, .body = {}});
}

int create_sandbox(const SandboxWords& words) {
  auto body = new_sandbox_json(words.fresh);
  if (!body) return usage_error(body.error().message());
  // Packages may take their time.
  const Asked asked =
      ask(words.place,
          {.method = http::Method::kPost,
           .target = "/v1/sandboxes",
           .headers = {},
           .body = std::move(*body)},
          words.fresh.packages.is_given() ? std::chrono::milliseconds(0) : kCommandTime);
  if (asked.status != 0) return asked.status;
  if (words.json) {
    print_text(asked.body);
    return 0;
  }
  const auto sandbox = parse_answer(asked.body);
  if (!sandbox) return failure(sandbox.error());
  // The id alone on standard output, so that it can be caught: ID=$(glovebox sandbox create).
  std::fprintf(stderr, "template %s, %s, until %s\n",
               printable(shown(*sandbox, "template")).c_str(),
               printable(shown(*sandbox, "isolation", "grade")).c_str(),
               printable(shown(*sandbox, "expires_at")).c_str());
  if (const std::string token = shown(*sandbox, "port_token"); token != "-") {
    std::fprintf(stderr, "port token (not shown again): %s\n", printable(token).c_str());
  }
  print_text(printable(shown(*sandbox, "id")) + "\n");
  return 0;
}

std::string list_target(const SandboxWords& words) {
  std::string target = "/v1/sandboxes?limit=100";
  if (!words.state.empty()) {
    target += "&state=" + url_encoded(words.state);
  } else if (!words.all) {
    target += "&state=pending,starting,running,paused";
  }
  if (!words.fresh.template_name.empty()) {
    target += "&template=" + url_encoded(words.fresh.template_name);
  }
  if (!words.fresh.agent_id.empty()) target += "&agent_id=" + url_encoded(words.fresh.agent_id);
  for (const std::string& note : words.fresh.metadata) {
    const std::size_t equals = std::min(note.find('='), note.size() - 1);
    target += "&metadata." + url_encoded(note.substr(0, equals)) + "=" +
              url_encoded(note.substr(equals + 1));
  }
  return target;
}

// All pages, as one list.
int list_sandboxes(const SandboxWords& words) {
  for (const std::string& note : words.fresh.metadata) {
    if (note.find('=') == std::string::npos) return usage_error("--metadata must be KEY=VALUE");
  }
  const std::string target = list_target(words);
  std::vector<std::vector<std::string>> rows = {
      {"ID", "STATE", "TEMPLATE", "CREATED", "EXPIRES", "METADATA"}};
  json::array all;
  std::string cursor;
  do {
    const Asked asked =
        get(words, target + (cursor.empty() ? "" : "&cursor=" + url_encoded(cursor)));
    if (asked.status != 0) return asked.status;
    const auto answer = parse_answer(asked.body);
    if (!answer) return failure(answer.error());
    const auto sandboxes = list_in(*answer, "sandboxes");
    if (!sandboxes) return failure(sandboxes.error());
    for (const json::value& value : *sandboxes) {
      all.push_back(value);
      if (!value.is_object()) continue;
      const json::object& one = value.get_object();
      rows.push_back({shown(one, "id"), shown(one, "state"), shown(one, "template"),
                      shown(one, "created_at"), shown(one, "expires_at"), shown(one, "metadata")});
    }
    const std::string next = shown(*answer, "next_cursor");
    cursor = next == "-" || next == cursor ? "" : next;
  } while (!cursor.empty());
  print_text(words.json ? json::serialize(json::object{{"sandboxes", std::move(all)}}) + "\n"
                        : table(rows));
  return 0;
}

int show_fields(const std::string& body, std::initializer_list<const char*> names) {
  const auto answer = parse_answer(body);
  if (!answer) return failure(answer.error());
  std::vector<std::vector<std::string>> rows;
  for (const char* name : names) rows.push_back({name, shown(*answer, name)});
  for (const char* name : {"grade", "walls", "missing"}) {
    const std::string text = shown(*answer, "isolation", name);
    if (text != "-") rows.push_back({name, text});
  }
  print_text(table(rows));
  return 0;
}

int show_sandbox(const SandboxWords& words, const Asked& asked) {
  if (asked.status != 0) return asked.status;
  if (words.json) {
    print_text(asked.body);
    return 0;
  }
  return show_fields(asked.body, {"id", "state", "reason", "template", "snapshot", "agent_id",
                                  "metadata", "limits", "on_timeout", "ttl_s", "created_at",
                                  "expires_at", "ended_at", "profile", "net", "dependencies"});
}

int kill_all(const SandboxWords& words, std::span<const std::string> ids) {
  int status = 0;
  for (const std::string& id : ids) {
    const Asked asked = ask(
        words.place,
        {.method = http::Method::kDelete, .target = sandbox_path(id), .headers = {}, .body = {}});
    if (asked.status != 0) {
      status = asked.status;
      continue;
    }
    print_text(words.json ? json::serialize(json::object{{"id", id}, {"killed", true}}) + "\n"
                          : "killed " + printable(id) + "\n");
  }
  return status;
}

int snapshot(const SandboxWords& words, const std::string& id) {
  json::object body;
  if (!words.name.empty()) body["name"] = words.name;
  const Asked asked = post(words, sandbox_path(id, "/snapshots"), json::serialize(body));
  if (asked.status != 0) return asked.status;
  if (words.json) {
    print_text(asked.body);
    return 0;
  }
  const auto made = parse_answer(asked.body);
  if (!made) return failure(made.error());
  std::fprintf(stderr, "%s files, %s bytes; memory is not kept\n",
               printable(shown(*made, "files")).c_str(), printable(shown(*made, "bytes")).c_str());
  print_text(printable(shown(*made, "id")) + "\n");
  return 0;
}

int snapshots(const SandboxWords& words) {
  const Asked asked = get(words, "/v1/snapshots");
  if (asked.status != 0) return asked.status;
  if (words.json) {
    print_text(asked.body);
    return 0;
  }
  const auto answer = parse_answer(asked.body);
  if (!answer) return failure(answer.error());
  const auto all = list_in(*answer, "snapshots");
  if (!all) return failure(all.error());
  std::vector<std::vector<std::string>> rows = {
      {"ID", "NAME", "TEMPLATE", "FILES", "BYTES", "CREATED", "OF SANDBOX"}};
  for (const json::value& value : *all) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    rows.push_back({shown(one, "id"), shown(one, "name"), shown(one, "template"),
                    shown(one, "files"), shown(one, "bytes"), shown(one, "created_at"),
                    shown(one, "sandbox")});
  }
  print_text(table(rows));
  return 0;
}

int forget(const SandboxWords& words, const std::string& id) {
  const Asked asked = ask(words.place, {.method = http::Method::kDelete,
                                        .target = "/v1/snapshots/" + url_encoded(id),
                                        .headers = {},
                                        .body = {}});
  if (asked.status != 0) return asked.status;
  print_text(words.json ? json::serialize(json::object{{"id", id}, {"removed", true}}) + "\n"
                        : "removed " + printable(id) + "\n");
  return 0;
}

int keepalive(const SandboxWords& words, const std::string& id) {
  json::object body;
  if (!words.fresh.ttl.empty()) {
    auto seconds = seconds_of(words.fresh.ttl, "--ttl");
    if (!seconds) return usage_error(seconds.error().message());
    body["ttl_s"] = *seconds;
  }
  return show_sandbox(words, post(words, sandbox_path(id, "/keepalive"), json::serialize(body)));
}

}  // namespace

int sandbox_command(const std::vector<std::string>& args) {
  SandboxWords words;
  NewSandboxWords& fresh = words.fresh;
  std::vector<Option> options = place_options(words.place);
  options.insert(options.end(), {{"--template", &fresh.template_name},
                                 {"--snapshot", &fresh.snapshot},
                                 {"--ttl", &fresh.ttl},
                                 {"--on-timeout", &fresh.on_timeout},
                                 {"--agent-id", &fresh.agent_id},
                                 {"--env", &fresh.env},
                                 {"--metadata", &fresh.metadata},
                                 {"--memory", &fresh.memory},
                                 {"--disk", &fresh.disk},
                                 {"--cpus", &fresh.cpus},
                                 {"--pids", &fresh.pids},
                                 {"--mount", &fresh.mounts},
                                 {"--min-grade", &fresh.min_grade},
                                 {"--net", &fresh.net},
                                 {"--net-deny", &fresh.net_deny},
                                 {"--private-ports", &fresh.private_ports},
                                 {"--with", &fresh.packages.with},
                                 {"--requirements", &fresh.packages.requirements},
                                 {"--lock", &fresh.packages.lock},
                                 {"--preload", &fresh.packages.preload},
                                 {"--state", &words.state},
                                 {"--all", &words.all},
                                 {"--name", &words.name},
                                 {"--json", &words.json},
                                 {"--help", &words.help},
                                 {"-h", &words.help}});
  const auto rest = take_options(args, options, "sandbox");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kSandboxUsage, kPlaceHelp, kSandboxHelp);
    return 0;
  }
  const std::string verb = rest->empty() ? "" : rest->front();
  const std::size_t count = rest->size();
  if (verb == "create" && count == 1) return create_sandbox(words);
  if (verb == "list" && count == 1) return list_sandboxes(words);
  if (verb == "snapshots" && count == 1) return snapshots(words);
  if (verb == "kill" && count >= 2) return kill_all(words, std::span(*rest).subspan(1));
  if (count == 2) {
    const std::string& id = (*rest)[1];
    if (verb == "show") return show_sandbox(words, get(words, sandbox_path(id)));
    if (verb == "pause") return show_sandbox(words, post(words, sandbox_path(id, "/pause")));
    if (verb == "resume") return show_sandbox(words, post(words, sandbox_path(id, "/resume")));
    if (verb == "keepalive") return keepalive(words, id);
    if (verb == "snapshot") return snapshot(words, id);
    if (verb == "forget") return forget(words, id);
  }
  return usage_error(
      "say `glovebox sandbox create`, `list`, `show ID`, `kill ID`, `pause ID`, `resume ID`, "
      "`keepalive ID`, `snapshot ID`, `snapshots` or `forget SNAPSHOT`; see `glovebox sandbox "
      "--help`");
}

}  // namespace glovebox::client
