// What a file helper reports about files, as records in a pipe: a 32-bit length and that many bytes
// each. Names have any bytes but "/" and NUL. Sizes are bounded, and nothing in a record is
// trusted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "wire/guest/file_metadata.h"

namespace glovebox::wire {

inline constexpr std::size_t kMaxFileRecord = 24 * 1024;
inline constexpr std::size_t kMaxRecordPath = 8000;  // deeper entries are left out

enum class FileType : std::uint8_t {
  kFile = 1,
  kDirectory,
  kSymlink,
  kFifo,
  kSocket,
  kCharDevice,
  kBlockDevice,
};

// Where a symlink leads in the end.
struct LinkEnd {
  std::string path;  // whole, without links
  FileType type = FileType::kFile;
  std::uint32_t mode = 0;
  bool operator==(const LinkEnd&) const = default;
};

struct FileEntry {
  std::string path;  // of kList: below the directory that was asked for; else as it was asked for
  FileType type = FileType::kFile;
  std::uint32_t mode = 0;  // permission bits
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::string user;  // by the guest's own passwd and group; empty: it has no name
  std::string group;
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;  // of 512 bytes
  std::int64_t modified_ns = 0;
  std::string target;  // of a symlink
  // Only where details were asked for.
  std::optional<LinkEnd> end;  // of a symlink; nothing: it leads nowhere
  Metadata metadata;
  bool operator==(const FileEntry&) const = default;
};

enum class WatchKind : std::uint8_t {
  kCreated = 1,
  kWritten,
  kRemoved,
  kRenamed,    // `path` to `to`; one that came from or went to elsewhere is created or removed
  kAttribute,  // mode, owner, time
  kOverflow,   // some were lost
  kReady,      // the first: from here on nothing is missed
};
struct WatchEvent {
  WatchKind kind = WatchKind::kCreated;
  bool directory = false;
  std::string path;  // below what is watched; empty: itself
  std::string to;
  bool operator==(const WatchEvent&) const = default;
};

// With its length in front.
std::string encode_record(const FileEntry& entry);
std::string encode_record(const WatchEvent& event);
// Without.
Result<FileEntry> decode_file_entry(std::string_view record);
Result<WatchEvent> decode_watch_event(std::string_view record);

// Cuts a stream into records, however it arrives.
class RecordReader {
 public:
  void add(std::string_view bytes) { buffer_.append(bytes); }
  // Nothing: more bytes are needed. An error: malformed.
  Result<std::optional<std::string>> next();
  bool empty() const { return at_ == buffer_.size(); }  // nothing is half read

 private:
  std::string buffer_;
  std::size_t at_ = 0;
};

}  // namespace glovebox::wire
