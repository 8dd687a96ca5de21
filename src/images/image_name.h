// How images are named: as container tools name them, "python:3.13-slim",
// "registry.example:5000/team/base" or "python@sha256:…".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace glovebox::images {

inline constexpr std::size_t kMaxImageName = 255;
// So many characters of an image's id stand for it. Nothing of that form is a name: else a project
// could call its image what another one's id begins with.
inline constexpr std::size_t kLeastImageId = 8;

// In its one spelling: with a tag ("latest" by default) or a digest, which has precedence over a
// tag, and without the name of Docker's own registry, which container tools leave out.
// kInvalidArgument.
Result<std::string> parse_image_name(std::string_view text);
// Whether a name in its one spelling has a digest. Only a pull proves that the image is that one.
bool has_digest(std::string_view name);

// Where a registry has it.
struct ImageReference {
  std::string name;        // in its one spelling
  std::string registry;    // "docker.io", "registry.example:5000"
  std::string repository;  // "library/python"
  std::string tag;         // empty: by its digest
  std::string sha256;      // of the manifest or index; empty: by its tag
  bool operator==(const ImageReference&) const = default;
};
// kInvalidArgument.
Result<ImageReference> parse_image_reference(std::string_view text);

}  // namespace glovebox::images
