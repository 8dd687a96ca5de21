// The JSON documents of an image: indexes, manifests and configurations, as OCI and Docker write
// them. They come from the image's publisher: bounded, strict about what is used, and blind to the
// rest.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/image.h"

namespace glovebox::images {

inline constexpr std::size_t kMaxManifestBytes = 4u << 20;  // of any one document
inline constexpr std::size_t kMaxImageLayers = 512;
inline constexpr std::size_t kMaxConfigBytes = 12 * 1024;  // of what is kept of a configuration

// Of a blob: "sha256:" and 64 hexadecimal digits in the document, only those here.
struct Descriptor {
  std::string sha256;
  std::uint64_t size = 0;
  std::string media_type{};
  std::string platform{};  // "linux/amd64"; empty: not said
  std::string name{};      // by an annotation
  bool operator==(const Descriptor&) const = default;
};

struct OciManifest {
  Descriptor config;
  std::vector<Descriptor> layers;
};
struct DockerManifest {
  std::string config;  // a file of the archive
  std::vector<std::string> names;
  std::vector<std::string> layers;  // files of the archive
};
struct ImageDescription {
  ImageConfig config;
  std::string platform;               // "linux/amd64"
  std::vector<std::string> diff_ids;  // SHA-256 of the uncompressed layers, bottom first
};

// All kInvalidArgument.
Result<std::vector<Descriptor>> parse_index(std::string_view text);
Result<OciManifest> parse_manifest(std::string_view text);
// Of an archive that `docker save` has written: one per image.
Result<std::vector<DockerManifest>> parse_docker_manifests(std::string_view text);
Result<ImageDescription> parse_image_config(std::string_view text);

bool is_index_type(std::string_view media_type);
// This machine's, as images name it: "linux/amd64".
std::string own_platform();

}  // namespace glovebox::images
