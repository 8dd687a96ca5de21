// The JSON documents of an image: indexes, manifests, configurations; and the record that servers
// keep of one. Whoever made the image wrote the former.
#include <string_view>

#include "fuzz_target.h"
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
  const auto record = images::parse_image_note(std::string(kImageNote) + std::string(text));
  if (!record) return 0;
  if (const auto note = images::image_note(*record)) {
    fuzz::promise(images::parse_image_note(*note) == *record, "a record comes back");
  }
  return 0;
}
