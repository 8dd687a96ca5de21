// What `glovebox image load` and `import` send: a file, standard input, or what `tar` makes of a
// directory. Owns the descriptor, and the process of `tar` until it has ended.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::client {

class ImageArchive {
 public:
  // "-": standard input.
  static Result<ImageArchive> open(const std::string& path);
  ImageArchive(ImageArchive&& other) noexcept
      : fd_(std::move(other.fd_)), packer_(std::exchange(other.packer_, 0)) {}
  ImageArchive& operator=(ImageArchive&&) = delete;
  ~ImageArchive();

  // Of a file; nothing where the length is known only at the end.
  std::optional<std::uint64_t> length() const;
  // 0: the end. kUnavailable, kInternal: `tar` is missing or failed, reported at the end.
  Result<std::size_t> read(char* into, std::size_t size);

 private:
  ImageArchive(UniqueFd fd, pid_t packer) : fd_(std::move(fd)), packer_(packer) {}
  static Result<ImageArchive> pack(const std::string& directory);
  Result<> wait_for_packer();

  UniqueFd fd_;
  pid_t packer_ = 0;  // 0: none, or it has ended
};

}  // namespace glovebox::client
