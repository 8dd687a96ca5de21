// `glovebox layers list|show|build|check|prune|remove`: the sets of packages that a server has
// installed.
#include <time.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/write_all.h"
#include "client/answers.h"
#include "client/api.h"
#include "client/build_progress.h"
#include "client/commands.h"
#include "client/layer_words.h"
#include "client/print.h"
#include "client/private_server.h"
#include "client/run_events.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kLayersUsage =
    "usage: glovebox layers list [--project NAME]\n"
    "       glovebox layers show ID\n"
    "       glovebox layers build --with PACKAGE [--with PACKAGE] [OPTIONS]\n"
    "       glovebox layers check ID\n"
    "       glovebox layers prune [--unused-for TIME] [--dry-run]\n"
    "       glovebox layers remove ID\n"
    "\n"
    "Sets of packages that were installed for runs and sandboxes (`glovebox run --with`), each "
    "kept\n"
    "as one layer. `build` installs one ahead; `check` compares one with what it was; `prune` and\n"
    "`remove` take away what is not in use. ID is an id or the first eight or more letters of it.\n"
    "`check`, `prune` and `remove` need an admin key, and show you the layers of all projects.\n"
    "Where no server is known, one is started for the command, as `glovebox run --with` does: the\n"
    "layers are those of such runs.\n"
    "\n"
    "  --with PACKAGE         build: like 'pandas>=2' or lodash@4; more than once\n"
    "  --requirements FILE    build: a requirements.txt, with or without hashes\n"
    "  --lock FILE            build: a pylock.toml or package-lock.json\n"
    "  --preload MODULES      build: modules to import ahead, like numpy,os.path; more than once\n"
    "  --template NAME        build: what runs with them will be of (default python; node with a\n"
    "                         package-lock.json)\n"
    "  --unused-for TIME      prune: only those that were not used for so long, like 7d or 12h\n"
    "  --dry-run              prune: only say which\n"
    "  --project NAME         list, build: another project than the key's own; for admin keys\n";
constexpr const char* kLayersHelp =
    "  --json                 print JSON\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server or the installer said no, or a layer is not what it was, 2 "
    "bad\n"
    "usage, 125 no server answers.\n";

constexpr std::size_t kShortId = 12;
constexpr std::size_t kPackagesInLine = 3;

std::uint64_t count_in(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_int64() || value->get_int64() < 0) return 0;
  return static_cast<std::uint64_t>(value->get_int64());
}

std::string layer_target(const std::string& path, const LayerWords& words) {
  return "/v1/layers" + path +
         (words.project.empty() ? "" : "?project=" + url_encoded(words.project));
}

int list_layers(const std::string& body) {
  const auto answer = parse_answer(body);
  if (!answer) return failure(answer.error());
  const auto layers = list_in(*answer, "layers");
  if (!layers) return failure(layers.error());
  const std::int64_t now = ::time(nullptr);
  std::vector<std::vector<std::string>> rows = {
      {"ID", "MANAGER", "SIZE", "AGE", "USED", "IN USE", "PACKAGES"}};
  std::uint64_t bytes = 0;
  for (const json::value& value : *layers) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    bytes += count_in(one, "bytes");
    rows.push_back({shown(one, "id").substr(0, kShortId), shown(one, "manager"),
                    size_text(count_in(one, "bytes")), age_text(shown(one, "made_at"), now),
                    age_text(shown(one, "used_at"), now),
                    shown(one, "in_use") == "true" ? "yes" : "no",
                    packages_text(one, kPackagesInLine)});
  }
  print_text(table(rows));
  if (rows.size() > 2) {
    print_text(std::to_string(rows.size() - 1) + " layers, " + size_text(bytes) + "\n");
  }
  return 0;
}

int show_layer(const json::object& one) {
  std::vector<std::vector<std::string>> rows;
  for (const char* name : {"id", "manager", "interpreter", "index"}) {
    rows.push_back({name, shown(one, name)});
  }
  rows.push_back({"size", size_text(count_in(one, "bytes"))});
  for (const char* name : {"bytes", "entries", "digest", "made_at", "used_at", "checked_at",
                           "in_use", "projects", "asked"}) {
    rows.push_back({name, shown(one, name)});
  }
  print_text(table(rows));
  const auto packages = list_in(one, "packages");
  if (!packages || packages->empty()) return 0;
  std::vector<std::vector<std::string>> all = {{"PACKAGE", "VERSION", "FILE", "HASH"}};
  for (const json::value& value : *packages) {
    if (!value.is_object()) continue;
    const json::object& package = value.get_object();
    all.push_back({shown(package, "name"), shown(package, "version"), shown(package, "file"),
                   shown(package, "hash")});
  }
  print_text("\n" + table(all));
  return 0;
}

int show_text(const std::string& body) {
  const auto answer = parse_answer(body);
  return answer ? show_layer(*answer) : failure(answer.error());
}

// Nobody has said where a server is, and none is at the usual place: then the layers are those of
// runs that had a server of their own, and one like that looks after them.
Result<std::unique_ptr<PrivateServer>> serve_where_nobody_does(PlaceWords& place) {
  if (!place.url.empty() || !place.key.empty() || !place.data_dir.empty()) return nullptr;
  const auto known = find_place(place, PlaceSurroundings::here());
  if (known || known.error().code() != Errc::kUnavailable) return nullptr;
  TRY(std::unique_ptr<PrivateServer> server, PrivateServer::start({}, PrivateServer::Log::kKept));
  place.url = server->place().url;
  place.key = server->place().key;
  return server;
}

// Live, so that nobody wonders what takes so long; what is printed at the end is the layer.
int build_layer(const PlaceWords& place_words, const LayerWords& words, const std::string& body,
                bool is_json) {
  auto place = find_place(place_words, PlaceSurroundings::here());
  if (!place) {
    if (place.error().code() == Errc::kInvalidArgument) return usage_error(place.error().message());
    return failure(place.error());
  }
  auto api = Api::open(std::move(*place));
  if (!api) return usage_error(api.error().message());
  BuildProgress progress;
  RunEvents events([](bool, std::string_view) { return true; },
                   [&](std::string_view phase, std::string_view text) {
                     if (is_json && ::isatty(STDERR_FILENO) != 1) return;
                     (void)write_all(STDERR_FILENO, progress.add(phase, text));
                   });
  std::optional<Error> broken;
  auto response = api->stream({.method = http::Method::kPost,
                               .target = layer_target("", words),
                               .headers = {{"Accept", "application/x-ndjson"}},
                               .body = body},
                              [&](std::string_view piece) {
                                const auto goes_on = events.add(piece);
                                if (!goes_on) broken = goes_on.error();
                                return goes_on && *goes_on;
                              });
  if (!response) return failure(response.error());
  if (const auto refusal = api->refusal_of(*response)) return refused(refusal->message);
  if (broken) return failure(*broken);
  auto layer = events.take_end();
  if (!layer) {
    if (events.failure_code().empty()) return failure(layer.error());
    const std::string& message = layer.error().message();
    return refused(events.failure_code() == "dependencies_failed" ? progress.failure_words(message)
                                                                  : message);
  }
  layer->erase("event");
  if (is_json) {
    print_text(json::serialize(*layer) + "\n");
  } else {
    print_text(printable(shown(*layer, "id")) + "\n");
    const std::string why = shown(*layer, "cold_because");
    if (why != "-")
      std::fprintf(stderr, "glovebox: no interpreter waits: %s\n", printable(why).c_str());
  }
  return 0;
}

int check(const std::string& body, bool is_json) {
  const auto answer = parse_answer(body);
  if (!answer) return failure(answer.error());
  const bool is_intact = shown(*answer, "intact") == "true";
  if (is_json) {
    print_text(body);
  } else if (is_intact) {
    print_text("intact\n");
  } else {
    print_text("not what it was: its digest was " + printable(shown(*answer, "expected")) +
               " and is " + printable(shown(*answer, "found")) + "\n");
  }
  return is_intact ? 0 : 1;
}

int prune(const PlaceWords& place, const LayerWords& words, const std::string& body, bool is_json) {
  const Asked asked = ask(
      place,
      {.method = http::Method::kPost, .target = "/v1/layers/prune", .headers = {}, .body = body},
      std::chrono::milliseconds(0));
  if (asked.status != 0) return asked.status;
  if (is_json) {
    print_text(asked.body);
    return 0;
  }
  const auto answer = parse_answer(asked.body);
  if (!answer) return failure(answer.error());
  const auto removed = list_in(*answer, "removed");
  if (!removed) return failure(removed.error());
  for (const json::value& id : *removed) {
    if (id.is_string()) print_text(printable(std::string(id.get_string())) + "\n");
  }
  print_text((words.dry_run ? "would remove " : "removed ") + std::to_string(removed->size()) +
             " layers, " + size_text(count_in(*answer, "bytes")) + "\n");
  return 0;
}

int remove_layer(const PlaceWords& place, const std::string& id, bool is_json) {
  const Asked asked = ask(place, {.method = http::Method::kDelete,
                                  .target = "/v1/layers/" + url_encoded(id),
                                  .headers = {},
                                  .body = {}});
  if (asked.status != 0) return asked.status;
  print_text(is_json ? json::serialize(json::object{{"id", id}, {"removed", true}}) + "\n"
                     : printable(id) + "\n");
  return 0;
}

int look(const PlaceWords& place, const LayerWords& words, const std::string& id, bool is_json) {
  http::ClientRequest request;
  request.target = layer_target(id.empty() ? "" : "/" + url_encoded(id), words);
  const Asked asked = ask(place, std::move(request));
  if (asked.status != 0) return asked.status;
  if (is_json) {
    print_text(asked.body);
    return 0;
  }
  return id.empty() ? list_layers(asked.body) : show_text(asked.body);
}

}  // namespace

int layers_command(const std::vector<std::string>& args) {
  PlaceWords place;
  LayerWords words;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place);
  options.insert(options.end(), {{"--with", &words.packages.with},
                                 {"--requirements", &words.packages.requirements},
                                 {"--lock", &words.packages.lock},
                                 {"--preload", &words.packages.preload},
                                 {"--template", &words.template_name},
                                 {"--unused-for", &words.unused_for},
                                 {"--dry-run", &words.dry_run},
                                 {"--project", &words.project},
                                 {"--json", &is_json},
                                 {"--help", &help},
                                 {"-h", &help}});
  const auto rest = take_options(args, options, "layers");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kLayersUsage, kPlaceHelp, kLayersHelp);
    return 0;
  }
  const std::string verb = rest->empty() ? "" : rest->front();
  const std::string id = rest->size() == 2 ? rest->back() : "";
  if (verb != "build" && (words.packages.is_given() || !words.template_name.empty())) {
    return usage_error("--with, --requirements, --lock, --preload and --template go with `build`");
  }
  if (verb != "prune" && (words.dry_run || !words.unused_for.empty())) {
    return usage_error("--unused-for and --dry-run go with `prune`");
  }
  const bool is_alone = verb == "list" || verb == "build" || verb == "prune";
  const bool has_id = verb == "show" || verb == "check" || verb == "remove";
  if (!(is_alone && rest->size() == 1) && !(has_id && !id.empty())) {
    return usage_error(
        "say `glovebox layers list`, `show ID`, `build --with PACKAGE`, `check ID`, `prune` or "
        "`remove ID`; see `glovebox layers --help`");
  }
  // Everything is read before anything is started.
  Result<std::string> body = verb == "build"   ? new_layer_json(words)
                             : verb == "prune" ? prune_json(words)
                                               : std::string();
  if (!body) {
    return body.error().code() == Errc::kInvalidArgument ? usage_error(body.error().message())
                                                         : failure(body.error());
  }
  const auto own_server = serve_where_nobody_does(place);
  if (!own_server) return failure(own_server.error());
  if (verb == "build") return build_layer(place, words, *body, is_json);
  if (verb == "prune") return prune(place, words, *body, is_json);
  if (verb == "remove") return remove_layer(place, id, is_json);
  if (verb != "check") return look(place, words, id, is_json);
  http::ClientRequest request;
  request.method = http::Method::kPost;
  request.target = "/v1/layers/" + url_encoded(id) + "/check";
  const Asked asked = ask(place, std::move(request), std::chrono::milliseconds(0));
  return asked.status != 0 ? asked.status : check(asked.body, is_json);
}

}  // namespace glovebox::client
