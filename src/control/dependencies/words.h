// What is said of a set of packages while it is made, and of the layers that were made.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/layer.h"

namespace glovebox::control {

enum class BuildPhase : std::uint8_t {
  kQueued = 1,  // others are built first
  kResolving,   // the package client asks its index and downloads
  kBuilding,    // a source package is built, without a network
  kInstalling,  // what was downloaded is put into a tree
  kSealing,     // the tree becomes a layer
  kChecking,    // a layer that was there is compared with its digest
  kWarming,     // its interpreter starts and imports
  kReady,
};
const char* phase_name(BuildPhase phase);  // "queued", "resolving", ...

struct BuildWord {
  BuildPhase phase = BuildPhase::kQueued;
  std::string text;  // a line of the installer's, or empty: the phase has begun
};
using OnBuildWord = std::function<void(const BuildWord&)>;

// A build or a warming that all have left who asked for it.
tl::unexpected<Error> nobody_waits();

// One artefact that a set resolved to.
struct Artefact {
  std::string name;
  std::string version;
  std::string file;    // its name on the index
  std::string sha256;  // hexadecimal; of npm's packages their integrity, "sha512-..."
  bool operator==(const Artefact&) const = default;
};

// A layer as people see it. From its record and the note in it.
struct LayerView {
  LayerRecord record;
  std::string manager;  // "pip" or "npm"
  std::string interpreter;
  std::string index;               // its address without a user or password
  std::vector<std::string> asked;  // the sets of packages that came to it, as they were asked for
  std::vector<Artefact> packages;
  std::vector<std::string> projects;  // who asked
  std::int64_t checked_ms = 0;        // when its digest was last compared
};

}  // namespace glovebox::control
