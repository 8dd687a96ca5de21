// The progress of package builds, and the view of finished layers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/layer.h"

namespace glovebox::packages {

enum class BuildPhase : std::uint8_t {
  kQueued = 1,  // other builds go first
  kResolving,   // the package client asks its index and downloads
  kBuilding,    // a source package is built, without a network
  kInstalling,  // what was downloaded is put into a tree
  kSealing,     // the tree becomes a layer
  kChecking,    // the digest of an existing layer is verified
  kWarming,     // its interpreter starts and imports
  kReady,
};
const char* phase_name(BuildPhase phase);  // "queued", "resolving", ...

struct BuildProgress {
  BuildPhase phase = BuildPhase::kQueued;
  std::string text;  // a line of the installer; empty: the phase has begun
};
using OnBuildProgress = std::function<void(const BuildProgress&)>;

// The error of a build or warm-up that was cancelled.
tl::unexpected<Error> build_cancelled();

// One artefact that a set resolved to.
struct Artefact {
  std::string name;
  std::string version;
  std::string file;    // its name on the index
  std::string sha256;  // hexadecimal; npm: the integrity, "sha512-..."
  bool operator==(const Artefact&) const = default;
};

// A layer for display, from its record and manifest.
struct LayerView {
  LayerRecord record;
  std::string manager;  // "pip" or "npm"
  std::string interpreter;
  std::string index;               // its URL without credentials
  std::vector<std::string> asked;  // the requests that resolved to it
  std::vector<Artefact> packages;
  std::vector<std::string> projects;  // that requested it
  std::int64_t checked_ms = 0;        // when its digest was last verified
};

}  // namespace glovebox::packages
