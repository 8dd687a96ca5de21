// Build-time program: writes the digest of the files that the launcher embeds. Half a megabyte
// takes half a millisecond, which every cold run would wait for.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "launcher/layers/file_digest.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::uint64_t sum = 0;  // in no order
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i], std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (!in || bytes.empty()) {
      std::fprintf(stderr, "gen_digest: cannot read %s\n", argv[i]);
      return 1;
    }
    sum += glovebox::launcher::digest_of(bytes);
  }
  std::ofstream out(argv[1], std::ios::trunc);
  out << "constexpr std::uint64_t kRuntimeFilesDigest = " << sum << "ull;\n";
  return out.flush() ? 0 : 1;
}
