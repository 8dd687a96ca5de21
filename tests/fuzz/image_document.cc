// The JSON documents of an image: indexes, manifests, configurations; the record that servers keep
// of one; and what a pull is asked for and what its sandbox says. The image's publisher wrote the
// first.
#include <string_view>

#include "fuzz_target.h"
#include "images/image_fetch.h"
#include "images/image_json.h"
#include "images/image_manifest.h"
#include "images/image_name.h"
#include "images/image_record.h"

namespace {

using namespace glovebox;

void check_digest(const std::string& digest) {
  fuzz::promise(digest.size() == 64, "a digest has 64 digits");
  fuzz::promise(digest.find_first_not_of("0123456789abcdef") == std::string::npos, "hexadecimal");
}

void check_config(const ImageConfig& config) {
  fuzz::promise(config.workdir.empty() || config.workdir[0] == '/', "absolute");
  std::size_t bytes = 0;
  for (const auto* list : {&config.env, &config.entrypoint, &config.cmd}) {
    for (const std::string& text : *list) {
      fuzz::promise(text.find('\0') == std::string::npos, "no NUL reaches a program");
      bytes += text.size();
    }
  }
  fuzz::promise(bytes <= images::kMaxConfigBytes, "bounded");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto index = images::parse_index(text)) {
    for (const images::Descriptor& one : *index) check_digest(one.sha256);
  }
  if (const auto manifest = images::parse_manifest(text)) {
    fuzz::promise(manifest->layers.size() <= images::kMaxImageLayers, "bounded");
    check_digest(manifest->config.sha256);
  }
  if (const auto manifests = images::parse_docker_manifests(text)) {
    for (const images::DockerManifest& one : *manifests) {
      fuzz::promise(one.layers.size() <= images::kMaxImageLayers, "bounded");
    }
  }
  if (const auto description = images::parse_image_config(text)) {
    check_config(description->config);
    for (const std::string& id : description->diff_ids) check_digest(id);
  }
  if (const auto name = images::parse_image_name(text)) {
    fuzz::promise(images::parse_image_name(*name) == *name, "a name has one spelling");
  }
  if (const auto reference = images::parse_image_reference(text)) {
    fuzz::promise(reference->tag.empty() != reference->sha256.empty(), "a tag or a digest");
    fuzz::promise(reference->repository.find("/.") == std::string::npos, "no way out of a path");
    if (!reference->sha256.empty()) check_digest(reference->sha256);
  }
  if (const auto found = images::parse_found_image(text)) {
    check_digest(found->manifest);
    check_digest(found->config);
  }
  (void)images::parse_fetch_failure(text, {});
  if (const auto pull = images::parse_pull_request(text)) {
    for (const char c : pull->credentials.registry_token) {
      fuzz::promise(c > 0x20 && c < 0x7f, "a token fits into a header");
    }
  }
  const auto record = images::parse_image_note(std::string(kImageNote) + std::string(text));
  if (!record) return 0;
  if (const auto note = images::image_note(*record)) {
    fuzz::promise(images::parse_image_note(*note) == *record, "a record comes back");
  }
  return 0;
}
