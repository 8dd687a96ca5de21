// `glovebox image pull|load|import|list|show|remove|prune|publish|pin`: the images of a server.
#include <time.h>

#include <boost/json.hpp>
#include <cstdio>
#include <memory>

#include "base/percent_encoding.h"
#include "base/utf8.h"
#include "client/commands.h"
#include "client/connection/api_client.h"
#include "client/connection/private_server.h"
#include "client/connection/signal_interrupt.h"
#include "client/copy/copy_progress.h"
#include "client/output/image_pull.h"
#include "client/output/layer_text.h"
#include "client/output/print.h"
#include "client/output/response_fields.h"
#include "client/requests/image_archive.h"
#include "client/requests/layer_options.h"

namespace glovebox::client {
namespace {

namespace json = boost::json;

constexpr std::size_t kShortImageId = 12;

struct ImageOptions {
  ServerLocationOptions server;
  std::string name;
  LayerOptions common;  // --project, --unused-for, --dry-run
  bool anonymous = false;
  bool quiet = false;
  bool json = false;
};

options::CommandLine image_command_line(ImageOptions& image) {
  return {
      .name = "glovebox image",
      .description =
          "Manage the images that runs and sandboxes can be made of (`glovebox run --image`, "
          "`glovebox sandbox create --image`). `pull` fetches one from a registry that the "
          "administrator allows (images.registries); the server's sandbox fetches it, with your "
          "credentials of `docker login`. `load` takes an archive that `docker save`, `podman "
          "save` or skopeo wrote (Docker's or OCI's form), `import` a plain tree: a directory or a "
          "tar archive. IMAGE is a name like python:3.13-slim, or an id or at least its first "
          "eight characters. An image belongs to the project that loaded or pulled it; an "
          "administrator can "
          "publish one to all.\n"
          "If no server is known, the command starts a private one, as `glovebox run --image` "
          "does, and works on the images of such runs.",
      .groups = {{"Options",
                  {{"--name", "NAME",
                    "load: name of the image (default: those in the archive), or which one of "
                    "several; import: its name",
                    &image.name},
                   {"--unused-for", "TIME",
                    "prune: only images that were not used for this long, like 7d or 12h",
                    &image.common.unused_for},
                   {"--dry-run", "", "prune: only print which images would be removed",
                    &image.common.dry_run},
                   {"--project", "NAME", "use another project than the key's own (admin keys only)",
                    &image.common.project},
                   {"--anonymous", "", "pull: without the credentials of `docker login`",
                    &image.anonymous},
                   {"-q,--quiet", "", "pull, load, import: no progress; list: print only the ids",
                    &image.quiet},
                   {"--json", "", "print JSON", &image.json}}},
                 server_location_options(image.server)},
      .notes =
          "Exit status: 0 success, 1 the server refused, 2 bad usage, 125 no server responds.\n\n"
          "Examples:\n"
          "  glovebox image pull python:3.13-slim\n"
          "  docker save python:3.13-slim | glovebox image load -\n"
          "  glovebox image import ./rootfs --name base:1\n"
          "  glovebox run --image python:3.13-slim -c 'print(1)'\n",
      .subcommands = {{"pull", "NAME", 1, 1, "fetch an image from its registry"},
                      {"load", "FILE", 1, 1, "load an image from an archive (-: standard input)"},
                      {"import", "PATH", 1, 1, "make an image of a directory or a tar archive"},
                      {"list", "", 0, 0, "list them, the most recently used first", "ls"},
                      {"show", "IMAGE", 1, 1, "show one"},
                      {"remove", "IMAGE", 1, 1, "remove one", "rm"},
                      {"prune", "", 0, 0, "remove those that are neither in use nor pinned"},
                      {"publish", "IMAGE", 1, 1, "let all projects use one (admin keys only)"},
                      {"unpublish", "IMAGE", 1, 1, "let only its project use one"},
                      {"pin", "IMAGE", 1, 1, "keep one when room is needed"},
                      {"unpin", "IMAGE", 1, 1, "let one go when room is needed"}}};
}

std::string image_target(const ImageOptions& image, const std::string& path) {
  const std::string& project = image.common.project;
  return "/v1/images" + path + (project.empty() ? "" : "?project=" + percent_encode(project));
}

std::string names_text(const json::object& image, const char* between) {
  const auto names = array_field(image, "names");
  std::string text;
  if (!names) return "-";
  for (const json::value& name : *names) {
    if (!name.is_string()) continue;
    text += (text.empty() ? "" : between) + std::string(name.get_string());
  }
  return text.empty() ? "-" : text;
}

int print_images(const ImageOptions& options, const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  const auto images = array_field(*object, "images");
  if (!images) return failure(images.error());
  const std::int64_t now = ::time(nullptr);
  std::vector<std::vector<std::string>> rows = {
      {"ID", "NAME", "SIZE", "AGE", "USED", "IN USE", "PINNED", "PUBLIC"}};
  for (const json::value& value : *images) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    if (options.quiet) {
      print(printable(field_text(one, "id")) + "\n");
      continue;
    }
    const auto yes = [&one](const char* name) {
      return std::string(field_text(one, name) == "true" ? "yes" : "no");
    };
    rows.push_back(
        {field_text(one, "id").substr(0, kShortImageId), names_text(one, ", "),
         size_text(number_field(one, "bytes")), age_text(field_text(one, "made_at"), now),
         age_text(field_text(one, "used_at"), now), yes("in_use"), yes("pinned"), yes("public")});
  }
  if (!options.quiet) print(table(rows));
  return 0;
}

int print_image(const std::string& body) {
  const auto object = parse_response(body);
  if (!object) return failure(object.error());
  const json::object& one = *object;
  std::vector<std::vector<std::string>> rows = {{"id", field_text(one, "id")},
                                                {"names", names_text(one, ", ")},
                                                {"size", size_text(number_field(one, "bytes"))}};
  for (const char* name :
       {"project", "digest", "bytes", "entries", "layers", "devices_left_out", "capabilities_lost",
        "made_at", "used_at", "in_use", "pinned", "public"}) {
    rows.push_back({name, field_text(one, name)});
  }
  if (const json::value* config = one.if_contains("config"); config && config->is_object()) {
    for (const char* name : {"user", "workdir", "env", "entrypoint", "cmd"}) {
      rows.push_back({name, field_text(config->get_object(), name)});
    }
  }
  print(table(rows));
  return 0;
}

int print_new_image(const json::object& image) {
  print(printable(field_text(image, "id")) + "\n");
  const std::uint64_t devices = number_field(image, "devices_left_out");
  const std::uint64_t capabilities = number_field(image, "capabilities_lost");
  std::fprintf(stderr, "%s%s, %s\n", printable(names_text(image, ", ")).c_str(),
               field_text(image, "new") == "true" ? "" : " (was there already)",
               size_text(number_field(image, "bytes")).c_str());
  if (devices > 0) {
    std::fprintf(stderr, "%llu device nodes were left out\n",
                 static_cast<unsigned long long>(devices));
  }
  if (capabilities > 0) {
    std::fprintf(stderr, "the capabilities of %llu files could not be kept\n",
                 static_cast<unsigned long long>(capabilities));
  }
  return 0;
}

int load_image(const ImageOptions& options, const std::string& path, bool is_tree) {
  auto archive = ImageArchive::open(path);
  if (!archive) return failure(archive.error());
  auto api = ApiClient::connect(options.server);
  if (!api) return usage_error_or_failure(api.error());
  http::ClientRequest request = post_request("/v1/images");
  request.target += std::string("?format=") + (is_tree ? "tree" : "image");
  if (!options.name.empty()) request.target += "&name=" + percent_encode(options.name);
  if (!options.common.project.empty()) {
    request.target += "&project=" + percent_encode(options.common.project);
  }
  request.headers = {{"Accept", "application/json"}, {"Content-Type", "application/x-tar"}};
  CopyProgress progress(options.quiet || options.json);
  progress.begin(path, archive->length());
  auto response = api->upload(std::move(request), archive->length(),
                              [&](char* into, std::size_t size) -> Result<std::size_t> {
                                TRY(const std::size_t got, archive->read(into, size));
                                progress.add(got);
                                return got;
                              });
  progress.clear();
  if (!response) return failure(response.error());
  if (const auto error = api->error_in(*response)) return server_refused(error->message);
  if (options.json) {
    print(response->body);
    return 0;
  }
  const auto image = parse_response(response->body);
  if (!image) return failure(image.error());
  return print_new_image(*image);
}

int pull_by_command(const ImageOptions& options, const std::string& name) {
  auto api = ApiClient::connect(options.server);
  if (!api) return usage_error_or_failure(api.error());
  interrupt_on_signals();
  const InterruptibleRequest interruptible(*api);
  const ImagePullRequest wanted{.image = name,
                                .project = options.common.project,
                                .is_anonymous = options.anonymous,
                                .is_quiet = options.quiet || options.json};
  const auto pulled = pull_image(*api, wanted);
  if (was_interrupted()) return kExitInterrupted;
  if (!pulled) return failure(pulled.error());
  if (pulled->refused) return server_refused(pulled->refused->message);
  if (!options.json) return print_new_image(*pulled->image);
  print(json::serialize(*pulled->image) + "\n");
  return 0;
}

int send_and_print(const ImageOptions& options, http::ClientRequest request,
                   int (*show)(const std::string& body)) {
  const CommandResponse response = send_and_report(options.server, std::move(request), kNoTimeout);
  if (response.status != 0) return response.status;
  if (!options.json) return show(response.body);
  print(response.body);
  return 0;
}

int remove_image(const ImageOptions& options, const std::string& said) {
  const CommandResponse response = send_and_report(
      options.server, delete_request(image_target(options, "/" + percent_encode(said))));
  if (response.status != 0) return response.status;
  print(options.json ? json::serialize(json::object{{"image", said}, {"removed", true}}) + "\n"
                     : printable(said) + "\n");
  return 0;
}

int prune_images(const ImageOptions& options, const std::string& body) {
  const CommandResponse response = send_and_report(
      options.server, post_request(image_target(options, "/prune"), body), kNoTimeout);
  if (response.status != 0) return response.status;
  const Result<std::string> text =
      options.json ? Result<std::string>(response.body) : pruned_text(response.body, "images");
  if (!text) return failure(text.error());
  print(*text);
  return 0;
}

// publish, unpublish, pin, unpin.
int change_image(const ImageOptions& options, const std::string& verb, const std::string& said) {
  const bool is_yes = !verb.starts_with("un");
  const char* field = verb.ends_with("publish") ? "public" : "pinned";
  http::ClientRequest request = post_request(image_target(options, "/" + percent_encode(said)),
                                             json::serialize(json::object{{field, is_yes}}));
  request.method = http::Method::kPatch;
  return send_and_print(options, std::move(request), print_image);
}

}  // namespace

int image_command(const std::vector<std::string>& args) {
  ImageOptions options;
  options::Arguments arguments;
  if (const auto status = parse_arguments(image_command_line(options), args, arguments)) {
    return *status;
  }
  const std::string& verb = arguments.subcommand;
  const std::string said = arguments.operands.empty() ? "" : arguments.operands[0];
  const bool loads = verb == "load" || verb == "import";
  if (!loads && !options.name.empty()) {
    return usage_error("--name is only for `glovebox image load` and `glovebox image import`");
  }
  if (verb != "pull" && options.anonymous) {
    return usage_error("--anonymous is only for `glovebox image pull`");
  }
  if (verb == "import" && options.name.empty()) {
    return usage_error("`glovebox image import` needs --name");
  }
  if (verb != "prune" && (options.common.dry_run || !options.common.unused_for.empty())) {
    return usage_error("--unused-for and --dry-run are only for `glovebox image prune`");
  }
  const Result<std::string> body = verb == "prune" ? prune_json(options.common) : std::string();
  if (!body) return usage_error_or_failure(body.error());
  const auto private_server = start_server_if_none(options.server);
  if (!private_server) return failure(private_server.error());
  if (loads) return load_image(options, said, verb == "import");
  if (verb == "pull") return pull_by_command(options, said);
  if (verb == "prune") return prune_images(options, *body);
  if (verb == "remove") return remove_image(options, said);
  if (verb == "show") {
    return send_and_print(options, get_request(image_target(options, "/" + percent_encode(said))),
                          print_image);
  }
  if (verb != "list") return change_image(options, verb, said);
  const CommandResponse response =
      send_and_report(options.server, get_request(image_target(options, "")));
  if (response.status != 0) return response.status;
  if (!options.json) return print_images(options, response.body);
  print(response.body);
  return 0;
}

}  // namespace glovebox::client
