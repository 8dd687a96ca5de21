// `glovebox key create|show|list|revoke`: who may use the server.
#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/key_words.h"
#include "client/print.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kKeyUsage =
    "usage: glovebox key create [OPTIONS]\n"
    "       glovebox key show [--e2b]\n"
    "       glovebox key list [--project PROJECT]\n"
    "       glovebox key revoke ID\n"
    "\n"
    "Makes, lists and revokes the keys of a server. A key's secret is shown once, by `create`;\n"
    "`show` prints the admin key that `glovebox serve` left in its data directory.\n"
    "\n"
    "  --e2b                  create, show: the key in the form that E2B's clients want (the same\n"
    "                         key, with another beginning)\n"
    "  --project PROJECT      create: the project it belongs to (default: default); list: of that\n"
    "                         project only\n"
    "  --name NAME            create: what it is for, for people\n"
    "  --admin                create: it may manage keys and tidy up\n"
    "  --max-in-flight N      create: requests at once (default 0: no limit of its own)\n"
    "  --runs-per-minute N    create: runs per minute (default 0: no limit of its own)\n"
    "  --max-memory SIZE      create: memory and disk of its runs at once, like 4G (default: no\n"
    "                         limit of its own)\n";
constexpr const char* kKeyHelp =
    "  --json                 print the server's answer\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no, 2 bad usage, 125 no server answers.\n";

struct KeyWords {
  PlaceWords place;
  NewKeyWords fresh;
  bool e2b = false;
  bool json = false;
  bool help = false;
};

int create_key(const KeyWords& words) {
  const auto body = new_key_json(words.fresh);
  if (!body) return usage_error(body.error().message());
  const Asked asked =
      ask(words.place,
          {.method = http::Method::kPost, .target = "/v1/keys", .headers = {}, .body = *body});
  if (asked.status != 0) return asked.status;
  if (words.json && !words.e2b) {
    print_text(asked.body);
    return 0;
  }
  auto key = parse_answer(asked.body);
  if (!key) return failure(key.error());
  if (words.e2b) (*key)["key"] = e2b_form(shown(*key, "key"));
  if (words.json) {
    print_text(json::serialize(*key) + "\n");
    return 0;
  }
  // The secret alone on standard output, so that it can be caught: KEY=$(glovebox key create).
  std::fprintf(stderr, "key %s of project %s (%s); it is not shown again:\n",
               printable(shown(*key, "id")).c_str(), printable(shown(*key, "project")).c_str(),
               printable(shown(*key, "role")).c_str());
  print_text(printable(shown(*key, "key")) + "\n");
  return 0;
}

// Needs no server: whoever may read the file may use the key.
int show_key(const KeyWords& words) {
  const auto key = find_admin_key(words.place, PlaceSurroundings::here());
  if (!key) return failure(key.error());
  const std::string text = printable(words.e2b ? e2b_form(*key) : *key);
  print_text(words.json ? json::serialize(json::object{{"key", text}}) + "\n" : text + "\n");
  return 0;
}

std::string limit(const json::object& key, std::string_view name) {
  const std::string text = shown(key, "limits", name);
  return text == "0" ? "-" : text;
}

int list_keys(const KeyWords& words) {
  std::string target = "/v1/keys";
  if (!words.fresh.project.empty()) target += "?project=" + url_encoded(words.fresh.project);
  const Asked asked =
      ask(words.place,
          {.method = http::Method::kGet, .target = std::move(target), .headers = {}, .body = {}});
  if (asked.status != 0) return asked.status;
  if (words.json) {
    print_text(asked.body);
    return 0;
  }
  const auto answer = parse_answer(asked.body);
  if (!answer) return failure(answer.error());
  const auto keys = list_in(*answer, "keys");
  if (!keys) return failure(keys.error());
  std::vector<std::vector<std::string>> rows = {{"ID", "PROJECT", "NAME", "ROLE", "IN FLIGHT",
                                                 "PER MINUTE", "MEMORY MB", "CREATED", "LAST USED",
                                                 "REVOKED"}};
  for (const json::value& one : *keys) {
    if (!one.is_object()) continue;
    const json::object& key = one.get_object();
    rows.push_back({shown(key, "id"), shown(key, "project"), shown(key, "name"), shown(key, "role"),
                    limit(key, "max_in_flight"), limit(key, "runs_per_minute"),
                    limit(key, "max_memory_mb"), shown(key, "created_at"),
                    shown(key, "last_used_at"), shown(key, "revoked_at")});
  }
  print_text(table(rows));
  return 0;
}

int revoke(const KeyWords& words, const std::string& id) {
  const Asked asked = ask(words.place, {.method = http::Method::kDelete,
                                        .target = "/v1/keys/" + url_encoded(id),
                                        .headers = {},
                                        .body = {}});
  if (asked.status != 0) return asked.status;
  print_text(words.json ? json::serialize(json::object{{"id", id}, {"revoked", true}}) + "\n"
                        : "revoked " + printable(id) + "\n");
  return 0;
}

}  // namespace

int key_command(const std::vector<std::string>& args) {
  KeyWords words;
  std::vector<Option> options = place_options(words.place);
  NewKeyWords& fresh = words.fresh;
  options.insert(options.end(), {{"--project", &fresh.project},
                                 {"--name", &fresh.name},
                                 {"--admin", &fresh.admin},
                                 {"--e2b", &words.e2b},
                                 {"--max-in-flight", &fresh.max_in_flight},
                                 {"--runs-per-minute", &fresh.runs_per_minute},
                                 {"--max-memory", &fresh.max_memory},
                                 {"--json", &words.json},
                                 {"--help", &words.help},
                                 {"-h", &words.help}});
  const auto rest = take_options(args, options, "key");
  if (!rest) return usage_error(rest.error().message());
  if (words.help) {
    std::printf("%s%s%s", kKeyUsage, kPlaceHelp, kKeyHelp);
    return 0;
  }
  const std::string verb = rest->empty() ? "" : rest->front();
  const bool is_new = !fresh.name.empty() || fresh.admin || !fresh.max_in_flight.empty() ||
                      !fresh.runs_per_minute.empty() || !fresh.max_memory.empty();
  if (is_new && verb != "create" && !verb.empty()) {
    return usage_error("--name, --admin and the limits go with `glovebox key create`");
  }
  if (words.e2b && verb != "create" && verb != "show") {
    return usage_error("--e2b goes with `glovebox key create` and `show`");
  }
  if (verb == "create" && rest->size() == 1) return create_key(words);
  if (verb == "show" && rest->size() == 1) {
    if (!fresh.project.empty()) return usage_error("`glovebox key show` has no --project");
    return show_key(words);
  }
  if (verb == "list" && rest->size() == 1) return list_keys(words);
  if (verb == "revoke" && rest->size() == 2) return revoke(words, (*rest)[1]);
  return usage_error(
      "say `glovebox key create`, `show`, `list` or `revoke ID`; see `glovebox key --help`");
}

}  // namespace glovebox::client
