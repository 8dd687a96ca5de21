#include "launcher/layers/runtime_files.h"

#include <gtest/gtest.h>

#include "launcher/layers/file_digest.h"

namespace glovebox::launcher {
namespace {

TEST(RuntimeFiles, TheDigestIsThatOfTheEmbeddedBytes) {
  std::uint64_t sum = 0;
  for (const RuntimeFile& file : runtime_files()) sum += digest_of(file.bytes);
  EXPECT_EQ(runtime_files_digest(), sum);
}

TEST(RuntimeFiles, AnyOtherByteIsAnotherDigest) {
  std::string bytes(runtime_files().front().bytes);
  const std::uint64_t before = digest_of(bytes);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  EXPECT_NE(digest_of(bytes), before);
}

}  // namespace
}  // namespace glovebox::launcher
