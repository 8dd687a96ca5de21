// An archive with an image in it, as `docker save`, `podman save` and skopeo write them: Docker's
// form and OCI's. It is a file of the server's own, which a client has sent; it is read once from
// its beginning to its end, and what is found is checked against the digests that its documents
// say. Blocks: call it on a thread for that.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "images/image_manifest.h"

namespace glovebox::images {

// Where a layer is in the file.
struct ArchivedLayer {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::string diff_id;  // what it must be uncompressed; empty: not said
};

struct ArchivedImage {
  std::vector<std::string> names;  // in their one spelling
  std::string digest;              // SHA-256 of its configuration
  std::string manifest{};  // of the manifest or index that index.json names; empty: Docker's form
  ImageConfig config;
  std::vector<ArchivedLayer> layers;  // bottom first
};

// Of several images the one that `name` names; else the archive must have one only, for this
// platform. kInvalidArgument: it is no such archive, or not what its digests say.
Result<ArchivedImage> read_image_archive(int file, const std::string& name);
// The file itself is the tree of an image, as one layer; `digest` is that of the file.
Result<ArchivedImage> read_root_archive(int file);

}  // namespace glovebox::images
