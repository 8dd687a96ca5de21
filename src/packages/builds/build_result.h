// What one of our scripts left in a build's sandbox as out/result.json. Whatever ran beside it may
// have written it instead: strict, bounded, and every word of it is checked before it is used.
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
  std::string file;   // of a build: the wheel's name, without a directory
  std::string error;  // the installer's words; not yet fit to be shown
};

// kInvalidArgument: it cannot be so.
Result<BuildResult> parse_build_result(std::string_view json);

// Whether a wheel of this name is one of the distribution `name`, however either is spelled.
bool is_wheel_of(std::string_view file, std::string_view name);

}  // namespace glovebox::packages
