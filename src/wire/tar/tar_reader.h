// Reads untrusted tar archives: ustar, pax, and GNU's long names and numbers. Lengths in headers
// are not trusted: data is read in bounded pieces. Names are not interpreted here.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "wire/tar/tar_entry.h"

namespace glovebox::wire {

class TarReader {
 public:
  static constexpr std::size_t kMaxExtra = 1024 * 1024;  // of a pax header or a long name
  static constexpr std::size_t kMaxName = 64 * 1024;

  // Some bytes, at least one; none at the end.
  using Source = std::function<Result<std::size_t>(char* bytes, std::size_t size)>;
  explicit TarReader(Source source) : source_(std::move(source)) {}

  // The next entry; what was left of the one before is skipped. Nothing: the archive's end.
  Result<std::optional<TarEntry>> next();
  // Of the entry's content: none at its end.
  Result<std::size_t> read(char* bytes, std::size_t size);

  std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  struct Extra {
    std::optional<std::string> name, link;
    std::optional<std::uint64_t> size;
    std::optional<std::uint64_t> uid, gid;
    std::optional<std::pair<std::int64_t, std::uint32_t>> mtime;
    std::vector<std::pair<std::string, std::string>> xattrs;
    bool removed = false;
    bool opaque = false;
  };

  Result<std::size_t> read_block(char* block);  // a whole one, or none
  Result<> skip_content();
  Result<std::string> read_extra(std::uint64_t size);
  Result<> take_records(std::string_view records, Extra& extra);
  Result<> take_record(std::string_view key, std::string_view value, Extra& extra);
  Result<TarEntry> entry_of(std::string_view block, Extra extra);

  Source source_;
  std::uint64_t left_ = 0;     // of the content
  std::uint64_t padding_ = 0;  // behind it
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;
};

}  // namespace glovebox::wire
