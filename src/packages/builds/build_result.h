// Parses out/result.json, which our script leaves in a build sandbox. Package code may have written
// it instead, so parsing is strict and bounded, and every field is checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "packages/builds/build_progress.h"

namespace glovebox::packages {

inline constexpr std::size_t kMaxResultBytes = 2u << 20;
inline constexpr std::size_t kMaxArtefacts = 2'000;
inline constexpr std::size_t kMaxArtefactWord = 300;
inline constexpr std::size_t kMaxInstallerWords = 8 * 1024;

struct BuildResult {
  enum class State : std::uint8_t {
    kReady = 1,
    kSource,  // `source` has to be built first
    kFailed,
  };
  State state = State::kFailed;
  std::vector<Artefact> artefacts;  // sorted
  std::string interpreter;
  std::optional<Artefact> source;
  std::string file;   // after a build: the name of the wheel without directory
  std::string error;  // the installer's message; not yet printable
};

// kInvalidArgument: invalid result.
Result<BuildResult> parse_build_result(std::string_view json);

// Whether `file` is the name of a wheel of distribution `name`, after normalisation (PEP 503).
bool is_wheel_of(std::string_view file, std::string_view name);

}  // namespace glovebox::packages
