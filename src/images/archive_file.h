// An archive that a client is sending, in a file without a name: it is gone with its last
// descriptor, also when the server is killed. Everything here blocks, and is called on the thread
// for that.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"

namespace glovebox::images {

class ArchiveFile {
 public:
  static Result<ArchiveFile> create(const std::string& directory);

  // kResourceExhausted with ENOSPC: the disk is almost full; the server's store is on it, too.
  Result<> append(std::string_view bytes);
  Result<std::size_t> read(std::uint64_t offset, char* into, std::size_t size) const;
  int fd() const { return fd_.get(); }
  std::uint64_t size() const { return size_; }

 private:
  explicit ArchiveFile(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
  std::uint64_t size_ = 0;
  std::uint64_t look_at_ = 0;  // when there are so many bytes, look again how much room there is
};

}  // namespace glovebox::images
