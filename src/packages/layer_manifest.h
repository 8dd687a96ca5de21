// The manifest that servers of this host keep with a layer: its packages, the requests that were
// resolved to it, their projects, and when its digest was last verified. The launcher stores it as
// opaque text and any server may have written it, so it is parsed strictly. A layer with an
// unreadable manifest is listed and never used.
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
  static constexpr std::size_t kMostProjectsOfOne = 8;  // of one request

  struct Asked {
    std::string spec;                     // its spec key
    std::string text;                     // for people
    std::int64_t at_ms = 0;               // when it was resolved
    std::vector<std::string> projects{};  // that requested it, latest last
    bool operator==(const Asked&) const = default;
  };

  std::string manager;
  std::string interpreter;
  std::string index;
  std::string template_name;  // the base of its build sandboxes
  std::vector<Artefact> packages{};
  std::uint64_t packages_left_out = 0;  // did not fit into the manifest
  std::vector<Asked> asked{};           // latest last
  std::vector<std::string> projects{};  // latest last
  std::string boot_id;                  // of the boot in which it was last verified
  std::int64_t checked_ms = 0;
  bool corrupt = false;  // does not match its digest
  bool operator==(const LayerManifest&) const = default;

  // Add the request and project, or move them to the end. True if the manifest must be written.
  bool record_request(const std::string& spec, const std::string& text, std::int64_t at_ms,
                      const std::string& project);
  bool record_project(const std::string& spec, const std::string& project);
};

// At most kMaxLayerNote bytes: the last packages are left out until it fits.
std::string manifest_json(LayerManifest manifest);
// kInvalidArgument.
Result<LayerManifest> parse_manifest(std::string_view text);

}  // namespace glovebox::packages
