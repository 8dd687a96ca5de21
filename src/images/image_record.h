// What the servers of a host keep with the tree of an image: whose it is, its names and how its
// programs are started. The launcher stores it as opaque text with the layer; another server may
// have written it, so it is parsed strictly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/image.h"

namespace glovebox::images {

struct ImageRecord {
  static constexpr std::size_t kMostNames = 32;

  std::string project;
  std::vector<std::string> names{};  // in their one spelling
  std::string digest{};              // of its configuration, or of the imported file
  ImageConfig config{};
  std::uint64_t layers = 0;
  std::uint64_t devices = 0;       // nodes that were left out
  std::uint64_t capabilities = 0;  // of files, that could not be kept
  bool is_public = false;          // every project may use it
  bool is_pinned = false;          // stays when room is needed
  bool operator==(const ImageRecord&) const = default;
};

// The note of a layer. kInvalidArgument: longer than a note may be.
Result<std::string> image_note(const ImageRecord& record);
// kInvalidArgument.
Result<ImageRecord> parse_image_note(std::string_view note);

}  // namespace glovebox::images
