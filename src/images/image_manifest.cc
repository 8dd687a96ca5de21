#include "images/image_manifest.h"

#include <sys/utsname.h>

#include <boost/json.hpp>

#include "base/hex.h"
#include "base/utf8.h"
#include "images/image_name.h"
#include "wire/json/strict_json.h"

namespace glovebox::images {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxEntries = 1024;  // of any one list
constexpr std::size_t kMaxPath = 512;
constexpr std::size_t kDigestSize = 64;
constexpr std::string_view kSha256 = "sha256:";

tl::unexpected<Error> malformed(const std::string& what) {
  return fail(Errc::kInvalidArgument, "malformed image: " + what);
}

Result<json::object> parse_object(std::string_view text, const char* what) {
  if (text.size() > kMaxManifestBytes) return malformed(std::string(what) + " is too large");
  auto document = wire::parse_strict_json(text);
  if (!document) return malformed(std::string(what) + ": " + document.error().message());
  if (!document->is_object()) return malformed(std::string(what) + " is not an object");
  return std::move(document->get_object());
}

// Empty: it is not there, or null.
Result<std::string> text_of(const json::object& object, std::string_view name,
                            std::size_t most = kMaxPath) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return std::string();
  if (!value->is_string() || value->get_string().size() > most ||
      value->get_string().find('\0') != json::string::npos) {
    return malformed(std::string(name) + " must be a short string");
  }
  return std::string(value->get_string());
}

Result<std::vector<std::string>> texts_of(const json::object& object, std::string_view name,
                                          std::size_t most_count = kMaxEntries,
                                          std::size_t most = kMaxConfigBytes) {
  std::vector<std::string> texts;
  const json::value* value = object.if_contains(name);
  if (value == nullptr || value->is_null()) return texts;
  if (!value->is_array() || value->get_array().size() > most_count) {
    return malformed(std::string(name) + " must be a list of at most " +
                     std::to_string(most_count) + " strings");
  }
  for (const json::value& one : value->get_array()) {
    if (!one.is_string() || one.get_string().size() > most ||
        one.get_string().find('\0') != json::string::npos) {
      return malformed(std::string(name) + " must be a list of strings");
    }
    texts.emplace_back(one.get_string());
  }
  return texts;
}

Result<std::string> digest_of(std::string_view text) {
  if (!text.starts_with(kSha256)) {
    return malformed("the digest \"" + to_utf8(text.substr(0, 80)) + "\" is not a SHA-256");
  }
  text.remove_prefix(kSha256.size());
  if (text.size() != kDigestSize || !is_lower_hex(text)) return malformed("invalid digest");
  return std::string(text);
}

Result<std::string> platform_of(const json::object& object) {
  TRY(const std::string os, text_of(object, "os", 64));
  TRY(const std::string architecture, text_of(object, "architecture", 64));
  return os.empty() && architecture.empty() ? std::string() : os + "/" + architecture;
}

Result<Descriptor> descriptor_of(const json::value* value, const char* what) {
  const json::object* object = value != nullptr ? value->if_object() : nullptr;
  if (object == nullptr) return malformed(std::string(what) + " is missing");
  Descriptor found;
  TRY(const std::string digest, text_of(*object, "digest"));
  TRY(found.sha256, digest_of(digest));
  const json::value* size = object->if_contains("size");
  if (size == nullptr || !size->is_int64() || size->get_int64() < 0) {
    return malformed(std::string(what) + " has no size");
  }
  found.size = static_cast<std::uint64_t>(size->get_int64());
  TRY(found.media_type, text_of(*object, "mediaType"));
  if (const json::value* platform = object->if_contains("platform")) {
    if (const json::object* its = platform->if_object()) {
      TRY(found.platform, platform_of(*its));
    }
  }
  if (const json::value* annotations = object->if_contains("annotations")) {
    if (const json::object* its = annotations->if_object()) {
      TRY(found.name, text_of(*its, "io.containerd.image.name"));
      if (found.name.empty()) {
        TRY(found.name, text_of(*its, "org.opencontainers.image.ref.name"));
      }
    }
  }
  return found;
}

Result<std::vector<Descriptor>> descriptors_of(const json::object& object, const char* name,
                                               std::size_t most) {
  const json::value* value = object.if_contains(name);
  const json::array* list = value != nullptr ? value->if_array() : nullptr;
  if (list == nullptr) return malformed(std::string(name) + " is missing");
  if (list->size() > most) {
    return malformed(std::string(name) + " has more than " + std::to_string(most) + " entries");
  }
  std::vector<Descriptor> all;
  for (const json::value& one : *list) {
    TRY(Descriptor descriptor, descriptor_of(&one, name));
    all.push_back(std::move(descriptor));
  }
  return all;
}

std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& one : texts) bytes += one.size() + 4;
  return bytes;
}

Result<ImageConfig> config_of(const json::object& object) {
  ImageConfig config;
  TRY(config.user, text_of(object, "User", 64));
  TRY(config.workdir, text_of(object, "WorkingDir"));
  if (!config.workdir.empty() && config.workdir[0] != '/') {
    return malformed("WorkingDir is not an absolute path");
  }
  TRY(config.env, texts_of(object, "Env"));
  for (const std::string& variable : config.env) {
    const std::size_t equals = variable.find('=');
    if (equals == 0 || equals == std::string::npos) return malformed("Env has no NAME=value");
  }
  TRY(config.entrypoint, texts_of(object, "Entrypoint"));
  TRY(config.cmd, texts_of(object, "Cmd"));
  if (config.user.size() + config.workdir.size() + bytes_of(config.env) +
          bytes_of(config.entrypoint) + bytes_of(config.cmd) >
      kMaxConfigBytes) {
    return malformed("Env, Entrypoint and Cmd together exceed 12 KB");
  }
  return config;
}

}  // namespace

bool is_index_type(std::string_view media_type) {
  return media_type == "application/vnd.oci.image.index.v1+json" ||
         media_type == "application/vnd.docker.distribution.manifest.list.v2+json";
}

std::string own_platform() {
  utsname machine{};
  (void)::uname(&machine);
  const std::string_view name = machine.machine;
  if (name == "x86_64") return "linux/amd64";
  if (name == "aarch64") return "linux/arm64";
  return "linux/" + std::string(name);
}

Result<std::vector<Descriptor>> parse_index(std::string_view text) {
  TRY(const json::object index, parse_object(text, "the index"));
  return descriptors_of(index, "manifests", kMaxEntries);
}

Result<OciManifest> parse_manifest(std::string_view text) {
  TRY(const json::object object, parse_object(text, "the manifest"));
  OciManifest manifest;
  TRY(manifest.config, descriptor_of(object.if_contains("config"), "config"));
  TRY(manifest.layers, descriptors_of(object, "layers", kMaxImageLayers));
  return manifest;
}

Result<std::vector<DockerManifest>> parse_docker_manifests(std::string_view text) {
  if (text.size() > kMaxManifestBytes) return malformed("manifest.json is too large");
  auto document = wire::parse_strict_json(text);
  if (!document) return malformed("manifest.json: " + document.error().message());
  const json::array* list = document->if_array();
  if (list == nullptr || list->size() > kMaxEntries) return malformed("manifest.json is no list");
  std::vector<DockerManifest> all;
  for (const json::value& one : *list) {
    const json::object* object = one.if_object();
    if (object == nullptr) return malformed("manifest.json has an entry that is no object");
    DockerManifest manifest;
    TRY(manifest.config, text_of(*object, "Config"));
    TRY(manifest.names, texts_of(*object, "RepoTags", kMaxEntries, kMaxImageName));
    TRY(manifest.layers, texts_of(*object, "Layers", kMaxImageLayers, kMaxPath));
    if (manifest.config.empty()) return malformed("manifest.json has an entry without Config");
    all.push_back(std::move(manifest));
  }
  return all;
}

Result<ImageDescription> parse_image_config(std::string_view text) {
  TRY(const json::object object, parse_object(text, "the configuration"));
  ImageDescription description;
  TRY(description.platform, platform_of(object));
  if (const json::value* config = object.if_contains("config")) {
    if (const json::object* its = config->if_object()) {
      TRY(description.config, config_of(*its));
    }
  }
  const json::value* rootfs = object.if_contains("rootfs");
  const json::object* its = rootfs != nullptr ? rootfs->if_object() : nullptr;
  if (its == nullptr) return malformed("the configuration has no rootfs");
  TRY(const std::vector<std::string> ids, texts_of(*its, "diff_ids", kMaxImageLayers, kMaxPath));
  for (const std::string& id : ids) {
    TRY(std::string digest, digest_of(id));
    description.diff_ids.push_back(std::move(digest));
  }
  return description;
}

}  // namespace glovebox::images
