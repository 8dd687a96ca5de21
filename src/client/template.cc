// `glovebox template list|show|create|delete`: what sandboxes can be made of, as a server sees it.
// `check` reads a file as the launcher would, needs no server, and is the front's.
#include <boost/json.hpp>
#include <cstdio>

#include "client/answers.h"
#include "client/api.h"
#include "client/commands.h"
#include "client/print.h"
#include "client/template_words.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr const char* kTemplateUsage =
    "usage: glovebox template list\n"
    "       glovebox template show NAME\n"
    "       glovebox template create NAME --from BASE [OPTIONS]\n"
    "       glovebox template create NAME --snapshot ID\n"
    "       glovebox template delete NAME\n"
    "       glovebox template check FILE\n"
    "\n"
    "What sandboxes can be made of. `list` and `show` ask a server; `create` and `delete` are for\n"
    "templates of your key's project, made of one of the administrator's; `check` reads a file as\n"
    "the launcher would and needs no server.\n"
    "\n"
    "  --from BASE            create: the template it is made of (default with packages: python)\n"
    "  --snapshot ID          create: a name for a snapshot, of which sandboxes can be made\n"
    "  --description TEXT     create: one line, for people\n"
    "  --preload MODULES      create: modules to import ahead, like numpy,os.path; more than once\n"
    "  --env NAME=VALUE       create: an environment variable; more than once\n"
    "  --timeout TIME         create: how long a run may take, unless it says otherwise\n"
    "  --memory SIZE          create: the same for memory, like 512M\n"
    "  --disk SIZE            create: for what is written\n"
    "  --pids N               create: for processes and threads\n"
    "  --cpus N               create: for CPUs, like 0.5\n"
    "  --with PACKAGE         create: a package to install in it, like 'pandas>=2'; more than "
    "once\n"
    "  --requirements FILE    create: packages of a requirements.txt\n"
    "  --lock FILE            create: packages of a pylock.toml or package-lock.json\n";
constexpr const char* kTemplateHelp =
    "  --json                 print JSON\n"
    "  --help                 this text\n"
    "\n"
    "Exit status: 0 done, 1 the server said no or the file is not right, 2 bad usage, 125 no "
    "server\n"
    "answers.\n";

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// The last line of a traceback says what went wrong.
std::string last_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

std::string pool_of(const json::object& one) {
  return shown(one, "pool", "min") + "-" + shown(one, "pool", "max");
}

int list_templates(const std::string& body) {
  const auto answer = parse_answer(body);
  if (!answer) return failure(answer.error());
  const auto templates = list_in(*answer, "templates");
  if (!templates) return failure(templates.error());
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "LANGUAGE", "RUNTIME", "POOL", "STATE", "DESCRIPTION"}};
  for (const json::value& value : *templates) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const std::string error = shown(one, "error");
    rows.push_back({shown(one, "name"), shown(one, "language"), shown(one, "runtime"), pool_of(one),
                    shown(one, "state"),
                    error == "-" ? first_line(shown(one, "description")) : last_line(error)});
  }
  print_text(table(rows));
  return 0;
}

int show_template(const std::string& body) {
  const auto answer = parse_answer(body);
  if (!answer) return failure(answer.error());
  const json::object& one = *answer;
  std::vector<std::vector<std::string>> rows;
  for (const char* name :
       {"name", "description", "built_in", "project", "from", "runtime", "language", "preload",
        "layers", "dependencies", "snapshot", "state", "generation", "zygotes", "forks"}) {
    rows.push_back({name, shown(one, name)});
  }
  rows.push_back({"pool", pool_of(one)});
  for (const char* name :
       {"timeout_ms", "cpu_ms", "memory_mb", "disk_mb", "pids", "cpu_thousandths"}) {
    rows.push_back({std::string("profile.") + name, shown(one, "profile", name)});
  }
  print_text(table(rows));
  const std::string error = shown(one, "error");
  if (error == "-") return 0;
  print_text("\n");
  std::size_t begin = 0;
  while (begin < error.size()) {
    const std::size_t end = std::min(error.find('\n', begin), error.size());
    print_text(printable(error.substr(begin, end - begin)) + "\n");
    begin = end + 1;
  }
  return 0;
}

int create_template(const PlaceWords& place, const std::string& name, const NewTemplateWords& words,
                    bool is_json) {
  const auto body = new_template_json(name, words);
  if (!body) return usage_error(body.error().message());
  // Packages may take their time.
  const Asked asked =
      ask(place,
          {.method = http::Method::kPost, .target = "/v1/templates", .headers = {}, .body = *body},
          words.names_packages() ? std::chrono::milliseconds(0) : kCommandTime);
  if (asked.status != 0) return asked.status;
  print_text(is_json ? asked.body : printable(name) + "\n");
  return 0;
}

int remove_template(const PlaceWords& place, const std::string& name, bool is_json) {
  const Asked asked = ask(place, {.method = http::Method::kDelete,
                                  .target = "/v1/templates/" + url_encoded(name),
                                  .headers = {},
                                  .body = {}});
  if (asked.status != 0) return asked.status;
  print_text(is_json ? json::serialize(json::object{{"name", name}, {"deleted", true}}) + "\n"
                     : "deleted " + printable(name) + "\n");
  return 0;
}

}  // namespace

int template_command(const std::vector<std::string>& args) {
  PlaceWords place;
  bool is_json = false;
  bool help = false;
  std::vector<Option> options = place_options(place);
  NewTemplateWords fresh;
  options.insert(options.end(), {{"--from", &fresh.from},
                                 {"--snapshot", &fresh.snapshot},
                                 {"--description", &fresh.description},
                                 {"--preload", &fresh.preload},
                                 {"--env", &fresh.env},
                                 {"--timeout", &fresh.timeout},
                                 {"--memory", &fresh.memory},
                                 {"--disk", &fresh.disk},
                                 {"--pids", &fresh.pids},
                                 {"--cpus", &fresh.cpus},
                                 {"--with", &fresh.with},
                                 {"--requirements", &fresh.requirements},
                                 {"--lock", &fresh.lock},
                                 {"--json", &is_json},
                                 {"--help", &help},
                                 {"-h", &help}});
  const auto rest = take_options(args, options, "template");
  if (!rest) return usage_error(rest.error().message());
  if (help) {
    std::printf("%s%s%s", kTemplateUsage, kPlaceHelp, kTemplateHelp);
    return 0;
  }
  const std::string verb = rest->empty() ? "" : rest->front();
  if (fresh.is_given() && verb != "create" && !verb.empty()) {
    return usage_error("--from and what follows it go with `glovebox template create`");
  }
  if (verb == "create" && rest->size() == 2)
    return create_template(place, (*rest)[1], fresh, is_json);
  if (verb == "delete" && rest->size() == 2) return remove_template(place, (*rest)[1], is_json);
  const bool is_list = verb == "list" && rest->size() == 1;
  const bool is_show = verb == "show" && rest->size() == 2;
  if (!is_list && !is_show) {
    return usage_error(
        "say `glovebox template list`, `show NAME`, `create NAME --from BASE`, `delete NAME` or "
        "`check FILE`; see `glovebox template --help`");
  }
  http::ClientRequest request;
  request.target = "/v1/templates" + (is_show ? "/" + url_encoded((*rest)[1]) : "");
  const Asked asked = ask(place, std::move(request));
  if (asked.status != 0) return asked.status;
  if (is_json) {
    print_text(asked.body);
    return 0;
  }
  return is_list ? list_templates(asked.body) : show_template(asked.body);
}

}  // namespace glovebox::client
