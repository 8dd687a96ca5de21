// One layer of an image into a tree that has those below it already. The layer may be compressed;
// the answer has the digest of what it is uncompressed, for the server to compare.
// The plain functions, not EVP: only SHA-256 itself is linked into the agent.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <fcntl.h>
#include <openssl/sha.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <span>

#include "base/hex.h"
#include "guest/agent/files/decompressor.h"
#include "guest/agent/files/image_unpacker.h"
#include "guest/agent/files/operations.h"
#include "guest/agent/files/resolved_path.h"
#include "wire/guest/image_layer.h"

namespace glovebox::agent {
namespace {

// What comes out of the decompressor: counted, bounded, hashed.
class LayerStream {
 public:
  LayerStream(int fd, std::uint64_t most)
      : decompressor_([fd](char* bytes, std::size_t size) { return read_pipe(fd, bytes, size); }),
        left_(most) {
    ::SHA256_Init(&hash_);
  }

  Result<std::size_t> read(char* bytes, std::size_t size) {
    TRY(const std::size_t got, decompressor_.read(bytes, size));
    if (got > left_) {
      return fail(Error(Errc::kResourceExhausted, "the image exceeds the size limit", EFBIG));
    }
    left_ -= got;
    ::SHA256_Update(&hash_, bytes, got);
    return got;
  }

  std::string digest() {
    unsigned char digest[SHA256_DIGEST_LENGTH];
    ::SHA256_Final(digest, &hash_);
    return hex_encode(std::span<const unsigned char>(digest));
  }

 private:
  static Result<std::size_t> read_pipe(int fd, char* bytes, std::size_t size) {
    for (;;) {
      const ssize_t got = ::read(fd, bytes, size);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) return fail_with(errno);
    }
  }

  Decompressor decompressor_;
  std::uint64_t left_;
  SHA256_CTX hash_{};
};

}  // namespace

Result<> image_in(HelperLink& link) {
  TRY(UniqueFd top, open_listing(AT_FDCWD, link.request().path));
  if (in_proc(top.get())) return fail_with(EACCES);
  TRY_OK(link.opened());
  ImageUnpacker unpacker(std::move(top), link.request().most);
  LayerStream stream(link.data(), link.request().most);
  // Headers are small and the decompressor is not asked for each of them.
  constexpr std::size_t kAtOnce = 64 * 1024;
  const auto buffer = std::make_unique<char[]>(kAtOnce);
  std::size_t at = 0;
  std::size_t have = 0;
  const auto next_bytes = [&](char* bytes, std::size_t size) -> Result<std::size_t> {
    if (at == have) {
      if (size >= kAtOnce) return stream.read(bytes, size);
      TRY(have, stream.read(buffer.get(), kAtOnce));
      at = 0;
    }
    const std::size_t some = std::min(size, have - at);
    std::copy_n(buffer.get() + at, some, bytes);
    at += some;
    return some;
  };
  wire::TarReader reader(next_bytes);
  const auto unpack = [&]() -> Result<> {
    for (;;) {
      TRY(const std::optional<wire::TarEntry> entry, reader.next());
      if (!entry) break;
      TRY_OK(unpacker.take(*entry, reader));
    }
    // Padding behind the archive's end is part of what the digest is of.
    for (char waste[16 * 1024];;) {
      TRY(const std::size_t got, next_bytes(waste, sizeof waste));
      if (got == 0) break;
    }
    TRY_OK(link.wait_for_commit());
    return unpacker.finish();
  };
  auto outcome = unpack();
  const ImageCounts& counts = unpacker.unpacked();
  link.done.bytes = counts.bytes;
  link.done.entries = counts.entries;
  if (outcome) {
    link.done.entry = wire::layer_report_text({.diff_id = stream.digest(),
                                               .devices = counts.devices,
                                               .capabilities = counts.capabilities});
  }
  return outcome;
}

}  // namespace glovebox::agent
