// Runs a target over every file of a corpus without libFuzzer, and over every cut-off and every
// single changed byte of each, so that `make test` tries what fuzzing has found before.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz_target.h"

namespace {

void try_input(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

void try_with_neighbours(const std::string& input) {
  constexpr std::size_t kMostBytes = 256;  // of a long input only the beginning is varied
  try_input(input);
  for (std::size_t at = 0; at < input.size() && at < kMostBytes; ++at) {
    try_input(input.substr(0, at));
    std::string changed = input;
    for (const unsigned value : {0x00u, 0x01u, 0x7fu, 0x80u, 0xffu}) {
      changed[at] = static_cast<char>(value);
      try_input(changed);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t inputs = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string input((std::istreambuf_iterator<char>(file)),
                              std::istreambuf_iterator<char>());
      try_with_neighbours(input);
      ++inputs;
    }
  }
  std::printf("%zu inputs and their neighbours, no promise broken\n", inputs);
  return inputs > 0 ? 0 : 1;  // a corpus that was not found is not a corpus that passed
}
