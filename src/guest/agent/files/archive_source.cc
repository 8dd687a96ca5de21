#include "guest/agent/files/archive_source.h"

#include <unistd.h>

#include <algorithm>

#include "guest/agent/files/resolved_path.h"

namespace glovebox::agent {
namespace {

// Reads ahead: headers are small.
class PipeReader {
 public:
  PipeReader(int fd, std::uint64_t max_bytes) : fd_(fd), bytes_left_(max_bytes) {}

  Result<std::size_t> read(char* bytes, std::size_t size) {
    if (at_ == have_) {
      const bool straight = size >= sizeof buffer_;
      char* const to = straight ? bytes : buffer_;
      TRY(const std::size_t got, fill(to, straight ? size : sizeof buffer_));
      if (straight || got == 0) return got;
      at_ = 0;
      have_ = got;
    }
    const std::size_t some = std::min(size, have_ - at_);
    std::copy_n(buffer_ + at_, some, bytes);
    at_ += some;
    return some;
  }

 private:
  Result<std::size_t> fill(char* bytes, std::size_t size) {
    for (;;) {
      const ssize_t got = ::read(fd_, bytes, size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_with(errno);
      const auto some = static_cast<std::size_t>(got);
      if (some > bytes_left_) {
        return fail(Error(Errc::kResourceExhausted, "the archive exceeds the size limit", EFBIG));
      }
      bytes_left_ -= some;
      return some;
    }
  }

  int fd_;
  std::uint64_t bytes_left_;
  std::size_t at_ = 0;
  std::size_t have_ = 0;
  char buffer_[64 * 1024];
};

}  // namespace

Result<> unpack_archive(HelperLink& link, Unpacker& unpacker) {
  PipeReader pipe(link.data(), link.request().most);
  wire::TarReader reader([&](char* bytes, std::size_t size) { return pipe.read(bytes, size); });
  const auto unpack = [&]() -> Result<> {
    for (;;) {
      TRY(const std::optional<wire::TarEntry> entry, reader.next());
      if (!entry) break;
      TRY_OK(unpacker.take(*entry, reader));
    }
    // Archives are filled up to whole records of 10 KiB or so.
    for (char waste[4096];;) {
      TRY(const std::size_t got, pipe.read(waste, sizeof waste));
      if (got == 0) break;
    }
    TRY_OK(link.wait_for_commit());
    return unpacker.finish();
  };
  auto outcome = unpack();
  link.done.bytes = unpacker.unpacked().bytes;
  link.done.entries = unpacker.unpacked().entries;
  return outcome;
}

}  // namespace glovebox::agent
