// What a server writes beside a layer, for itself and for other servers of the host: what is in it,
// which wishes came to it and when, for whom, and when it was last compared with its digest. The
// launcher keeps it as it is, and any server may have written it: it is parsed strictly, and a
// layer whose note cannot be read is listed and never used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

struct LayerManifest {
  static constexpr std::size_t kMostAsked = 16;
  static constexpr std::size_t kMostProjects = 32;      // of the layer
  static constexpr std::size_t kMostProjectsOfOne = 8;  // of one wish

  struct Asked {
    std::string spec;                     // its key
    std::string text;                     // for people
    std::int64_t at_ms = 0;               // when it was resolved
    std::vector<std::string> projects{};  // who asked so, the latest last
    bool operator==(const Asked&) const = default;
  };

  std::string manager;
  std::string interpreter;
  std::string index;
  std::string template_name;  // what its build was made of
  std::vector<Artefact> packages{};
  std::uint64_t packages_left_out = 0;  // there was no room for them
  std::vector<Asked> asked{};           // the latest last
  std::vector<std::string> projects{};  // the latest last
  std::string boot_id;                  // of the boot in which it was last compared
  std::int64_t checked_ms = 0;
  bool corrupt = false;  // found to be other than its digest says
  bool operator==(const LayerManifest&) const = default;

  // Adds who asked, or moves it to the end. Whether anything has changed that is worth writing.
  bool note_asked(const std::string& spec, const std::string& text, std::int64_t at_ms,
                  const std::string& project);
  bool note_project(const std::string& spec, const std::string& project);
};

// At most kMaxLayerNote bytes: packages are left out, the last ones first, until it fits.
std::string note_text(LayerManifest note);
// kInvalidArgument.
Result<LayerManifest> parse_note(std::string_view text);

}  // namespace glovebox::packages
