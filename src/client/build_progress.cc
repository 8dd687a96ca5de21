#include "client/build_progress.h"

#include "client/print.h"

namespace glovebox::client {
namespace {

struct Phase {
  std::string_view name;
  std::string_view words;
};
constexpr Phase kPhases[] = {
    {"queued", "waits for other builds"},
    {"resolving", "asks the index and downloads"},
    {"building", "builds from source"},
    {"installing", "installs"},
    {"sealing", "keeps them"},
    {"checking", "compares them with what they were"},
    {"warming", "starts an interpreter"},
    {"ready", ""},  // what follows shows it
};

std::string words_of(std::string_view phase) {
  for (const Phase& known : kPhases) {
    if (known.name == phase) return std::string(known.words);
  }
  return printable(std::string(phase));
}

}  // namespace

std::string BuildProgress::add(std::string_view phase, std::string_view text) {
  std::string out;
  if (phase != phase_) {
    phase_ = phase;
    const std::string words = words_of(phase);
    if (!words.empty()) out += "glovebox: packages: " + words + "\n";
  }
  if (!text.empty()) out += "  " + printable(std::string(text)) + "\n";
  return out;
}

}  // namespace glovebox::client
