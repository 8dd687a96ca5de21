// One entry of a tar archive, as tar_writer.h writes it and tar_reader.h reads it: POSIX pax, which
// every tar of today reads, with two records of our own for what a snapshot has to say.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace glovebox::wire {

inline constexpr std::size_t kTarBlock = 512;

enum class TarType : std::uint8_t {
  kFile,
  kHardLink,
  kSymlink,
  kCharDevice,
  kBlockDevice,
  kDirectory,
  kFifo,
  kOther,  // of a kind we do not know
};

struct TarEntry {
  TarType type = TarType::kFile;
  std::string name;  // any bytes; of a directory without the "/" at its end
  std::string link;  // what a link leads to
  std::uint32_t mode = 0;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t size = 0;  // of a file's content
  std::int64_t mtime_s = 0;
  std::uint32_t mtime_ns = 0;
  std::vector<std::pair<std::string, std::string>> xattrs;
  bool removed = false;  // GLOVEBOX.removed: what the template has there is gone
  bool opaque = false;   // GLOVEBOX.opaque: of what the template has in this directory, all is gone
  bool operator==(const TarEntry&) const = default;
};

}  // namespace glovebox::wire
